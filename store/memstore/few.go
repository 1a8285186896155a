package memstore

import (
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// few is how many claims grantAll decides: a request's limits and a slot.
const few = 4

// grantAll answers the batch that is the rule: a few claims on token buckets
// and slots whose entries are there under the claims' own limits, and all of
// them pass, so that it does not matter which are enforced. It does then what
// decide does, without what decide keeps in order to undo a part. In every
// other case, and where somebody else has a lock for long, it leaves all as it
// was and reports false.
//
// It locks in the order of the claims, which other batches may have otherwise,
// so it waits for nobody while it has a lock.
func (s *Store) grantAll(b *store.Batch) bool {
	var grants [few]grant
	if !s.findAll(b, &grants) {
		return false
	}
	for i := range b.Claims {
		g := &grants[i]
		if g.lock(i == 0) {
			if s.grantOne(b, i, g) {
				continue
			}
			g.undo()
		}
		for i > 0 {
			i--
			grants[i].undo()
		}
		return false
	}
	for i := range b.Claims {
		g := &grants[i]
		g.entry.extra = g.extra
		g.entry.word.Store(g.next)
	}
	return true
}

// grant is what one claim is granted while the others are asked. The lock of
// its entry is held.
type grant struct {
	shard  *shard
	table  *table
	entry  *entry
	holder *holder // that was taken for a slot
	joined *holder // that was taken for the slot that was held alone before
	key    key
	slot   int
	name   uint64
	word   uint64 // as it was
	next   uint64 // as it is to be
	extra  int64  // as it is to be
}

func (g *grant) undo() {
	if g.holder != nil {
		g.holder.print.Store(0)
	}
	if g.joined != nil {
		g.joined.print.Store(0)
	}
	g.entry.word.Store(g.word)
}

// findAll finds the entries of a batch, if they are there. It finds all of them
// before one is locked, because memory is not fetched ahead beyond a lock.
func (s *Store) findAll(b *store.Batch, grants *[few]grant) bool {
	var who uint64
	for i := range b.Claims {
		c, g := &b.Claims[i], &grants[i%few]
		if i == 0 || c.Owner != b.Claims[i-1].Owner {
			who = s.hasher.who(c.Owner)
		}
		k := s.hasher.keyOf(who, c.Limit.ID)
		g.shard, g.key = &s.shards[k.shard], k
		if g.table = g.shard.table.Load(); g.table == nil {
			return false
		}
		slot := g.table.find(k.print)
		if slot < 0 {
			return false
		}
		g.entry, g.slot = &g.table.slots[slot], slot
	}
	return true
}

// lock locks the entry. Only who has no lock yet may wait for it.
func (g *grant) lock(mayWait bool) (ok bool) {
	if g.word, ok = g.entry.tryLock(); !ok {
		if mayWait {
			g.word, ok = g.shard.wait(g.table, g.entry)
		} else {
			g.word, ok = g.entry.insist()
		}
		if !ok {
			return false
		}
	}
	if g.name = g.entry.name.Load(); printOf(g.name) != g.key.print {
		g.entry.word.Store(g.word)
		return false
	}
	return true
}

// grantOne decides a claim on an entry that is locked.
func (s *Store) grantOne(b *store.Batch, i int, g *grant) bool {
	c := &b.Claims[i]
	if c.Limit.Kind == store.Slots {
		return s.grantSlot(b, c, g, &b.Grants[i])
	}
	written := s.versions.view.Load().limits[uint16(g.name)].Load()
	if written == nil || !same(written, c.Limit) || written.Algorithm != store.TokenBucket {
		return false
	}
	l := c.Limit
	d, ok := l.GCRA.Pass(l.GCRA.Owed(limit.Bucket{Debt: limit.Debt(g.word), At: g.entry.extra}, b.Now), c.Cost)
	if !ok {
		return false
	}
	g.next, g.extra = uint64(d), b.Now
	passed(&b.Grants[i], &l.GCRA, d)
	return true
}

// passed writes the grant of a bucket that owes d then.
func passed(g *store.Grant, of *limit.GCRA, d limit.Debt) {
	g.OK, g.RetryAfter, g.Delay, g.Handle = true, 0, 0, uint64(d)
	g.Remaining, g.ResetAfter = of.Left(d)
}

func (s *Store) grantSlot(b *store.Batch, c *store.Claim, g *grant, to *store.Grant) bool {
	held, expires := countOf(g.word), leaseEnd(b.Now, c.Limit)
	switch {
	case held >= min(c.Limit.Max, most), uint16(g.name) != 0:
		return false
	case held == 0:
		g.next, g.extra = alone|s.hasher.markOf(b.ID), expires
		slotGranted(to, c.Limit.Max-1, g.place())
		return true
	case b.Now >= g.entry.extra: // some leases may have ended
		return false
	default:
		g.extra = min(g.entry.extra, expires)
	}
	mark := s.hasher.markOf(b.ID)
	n := g.shard.holders.take(g.key.print, mark)
	if n == 0 {
		return false
	}
	g.holder = g.shard.holders.at(n)
	g.holder.mark, g.holder.expires = mark, expires
	if g.word&alone != 0 && !g.join() {
		return false
	}
	g.next = uint64(held) + 1
	slotGranted(to, c.Limit.Max-held-1, uint64(n))
	return true
}

func slotGranted(g *store.Grant, left int64, handle uint64) {
	g.OK, g.Remaining, g.RetryAfter, g.ResetAfter, g.Delay, g.Handle = true, left, 0, 0, 0, handle
}

// join takes a holder for the slot that was held alone.
func (g *grant) join() bool {
	mark := g.word &^ alone
	n := g.shard.holders.take(g.key.print, mark)
	if n == 0 {
		return false
	}
	g.joined = g.shard.holders.at(n)
	g.joined.mark, g.joined.expires = mark, g.entry.extra
	return true
}

// place is the handle of a slot that is held alone: loner, and where its entry
// lies, so that it is given back without a search.
func (g *grant) place() uint64 {
	return g.key.print<<(shardBits+32)&^spilled | g.key.shard<<32 | uint64(loner) | uint64(g.slot)
}

// letGoAtOnce gives a slot back where that is all there is to do: the rule, as
// settle does it, and nothing where there is more.
func (s *Store) letGoAtOnce(r *store.Return) bool {
	if uint32(r.Handle)&loner != 0 {
		return s.letGoAlone(r)
	}
	return s.letGoHolder(r, uint32(r.Handle))
}

// letGoAlone needs no lock: the word is the request's own, or another. That the
// print fits as well is for a request that holds two slots alone, of which one
// may have moved to the other's place.
func (s *Store) letGoAlone(r *store.Return) bool {
	shard, slot := int(r.Handle>>32&(1<<shardBits-1)), int(uint32(r.Handle)&^loner)
	if shard >= len(s.shards) {
		return false
	}
	t := s.shards[shard].table.Load()
	if t == nil || slot >= len(t.slots) {
		return false
	}
	e := &t.slots[slot]
	const shift = shardBits + 32
	return (printOf(e.name.Load())^r.Handle>>shift)<<(shift+1) == 0 && e.word.CompareAndSwap(alone|s.hasher.markOf(r.ID), 0)
}

// letGoHolder takes a slot from the holder that its grant told.
func (s *Store) letGoHolder(r *store.Return, told uint32) bool {
	k := s.keyOf(r)
	at := site{shard: &s.shards[k.shard]}
	if at.table = at.shard.table.Load(); at.table == nil {
		return false
	}
	slot := at.table.find(k.print)
	if slot < 0 || !at.shard.holders.known(told) {
		return false
	}
	at.entry = &at.table.slots[slot]
	word, ok := at.lock(k.print)
	if !ok {
		return false
	}
	e, h := at.entry, at.shard.holders.at(told)
	held := word&alone == 0 && r.Now < e.extra && h.print.Load() == k.print && h.mark == s.hasher.markOf(r.ID)
	if held {
		h.print.Store(0)
		if word--; countOf(word) == 0 {
			e.extra = r.Now
		}
	}
	e.word.Store(word)
	return held
}
