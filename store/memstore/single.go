package memstore

import (
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// decideOne answers a claim on tokens of a key that is known under the claim's
// own limit: the common case, as decide does it but with nothing to keep. It
// reports whether it did.
func (s *Store) decideOne(c *store.Claim, now int64, g *store.Grant) bool {
	l := c.Limit
	k := s.hasher.key(c.Owner, l.ID)
	sh := &s.shards[k.shard]
	t := sh.table.Load()
	if t == nil {
		return false
	}
	slot := t.find(k.print)
	if slot < 0 {
		return false
	}
	e := &t.slots[slot]
	word, ok := e.tryLock()
	if !ok {
		if word, ok = sh.wait(t, e); !ok {
			return false
		}
	}
	name := e.name.Load()
	if written := s.versions.view.Load().limits[uint16(name)].Load(); printOf(name) != k.print || written == nil || !same(written, l) {
		e.word.Store(word)
		return false
	}
	if l.Algorithm == store.TokenBucket {
		owed := l.GCRA.Owed(limit.Bucket{Debt: limit.Debt(word), At: e.extra}, now)
		d, ok := l.GCRA.Pass(owed, c.Cost)
		e.extra = now
		e.word.Store(uint64(d))
		if ok {
			passed(g, &l.GCRA, d)
			return true
		}
		_, r := l.GCRA.Take(owed, c.Cost)
		answer(g, &r, uint64(d))
		return true
	}
	state := cell{words: words{word: word, extra: e.extra}, limit: l, version: uint16(name), shard: sh}
	state.age(now)
	r := state.take(now, c.Cost)
	state.apply(now)
	answer(g, &r, state.handle(now))
	e.extra = state.extra
	e.word.Store(state.word)
	return true
}

func answer(g *store.Grant, r *limit.Result, handle uint64) {
	g.OK, g.Remaining, g.RetryAfter, g.ResetAfter, g.Delay, g.Handle = r.OK, r.Remaining, r.RetryAfter, r.ResetAfter, r.Delay, handle
}
