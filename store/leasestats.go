package store

// Tally is what became of tokens. Lent is always the sum of the others.
type Tally struct {
	Lent     int64 // by the store
	Spent    int64 // by requests, less what they gave back
	Returned int64 // to the store, because they were not needed in time
	Void     int64 // forgotten, because a reset made them worthless
	Held     int64 // for the next requests
}

func (t *Tally) add(o *Tally) {
	t.Lent, t.Spent, t.Returned, t.Void = t.Lent+o.Lent, t.Spent+o.Spent, t.Returned+o.Returned, t.Void+o.Void
	t.Held += o.Held
}

// LeaseStats counts what leases did since the guard was made.
type LeaseStats struct {
	Keys    int    // leased now
	Calls   uint64 // that asked for loans
	Evicted uint64 // keys that made room for others
	Late    uint64 // refunds that came when their block was not known any more; their tokens refill
	Tally          // of all tokens; Held may lag behind by what is under way
}

// Leases is what leases did; all zero where there are none.
func (g *Guard) Leases() (s LeaseStats) {
	if g.remote == nil || g.remote.leases == nil {
		return s
	}
	l := g.remote.leases
	l.mu.Lock()
	s.Tally = l.past
	l.mu.Unlock()
	for _, k := range l.keys.Values() {
		t := k.count()
		s.Tally.add(&t)
		s.Keys++
	}
	s.Calls, s.Evicted, s.Late = l.calls.Load(), l.evicted.Load(), l.late.Load()
	return s
}
