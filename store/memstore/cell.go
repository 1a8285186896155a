package memstore

import (
	"math"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// cell is the state of an entry in words, while its lock is held, and the
// limit that it was written under. Each algorithm reads them in its own way:
//
//	token bucket   word is the debt, extra the moment when it was owed
//	fixed window   word is what was used, extra the window's start
//	slots          word is the count and the first of the holders, extra a
//	               moment before which none expires
type cell struct {
	word    uint64
	extra   int64
	limit   *store.Limit
	version uint16 // of the limit
}

func (c *cell) bucket() limit.Bucket { return limit.Bucket{Debt: limit.Debt(c.word), At: c.extra} }

func (c *cell) window() limit.Window { return limit.Window{Start: c.extra, Used: int64(c.word)} }

func (c *cell) setBucket(d limit.Debt, now int64) { c.word, c.extra = uint64(d), now }

func (c *cell) setWindow(w limit.Window) { c.word, c.extra = uint64(w.Used), w.Start }

// age brings the state of a limit on tokens to a moment.
func (c *cell) age(now int64) {
	switch c.limit.Algorithm {
	case store.TokenBucket:
		c.setBucket(c.limit.GCRA.Owed(c.bucket(), now), now)
	case store.FixedWindow:
		c.setWindow(c.limit.Window.At(c.window(), now))
	}
}

// carry makes the state, brought to a moment, that of another limit: what is
// spent stays spent.
func (c *cell) carry(to *store.Limit, version uint16, now int64) {
	from := c.limit
	if c.limit, c.version = to, version; same(from, to) {
		return
	}
	if from.Algorithm == store.TokenBucket && to.Algorithm == store.TokenBucket {
		c.setBucket(to.GCRA.Convert(&from.GCRA, limit.Debt(c.word)), now)
		return
	}
	spent := int64(c.word)
	if from.Algorithm == store.TokenBucket {
		spent = from.GCRA.Spent(limit.Debt(c.word))
	}
	if to.Algorithm == store.TokenBucket {
		c.setBucket(to.GCRA.Owing(spent), now)
		return
	}
	w := to.Window.At(limit.Window{}, now)
	w.Used = spent
	c.setWindow(w)
}

// take asks for a cost, of a state that was brought to the moment.
func (c *cell) take(now, cost int64) limit.Result {
	switch {
	case c.limit.Kind == store.Slots:
		return c.takeSlot(cost)
	case c.limit.Algorithm == store.TokenBucket:
		d, r := c.limit.GCRA.Take(limit.Debt(c.word), cost)
		c.word = uint64(d)
		return r
	default:
		w, r := c.limit.Window.Take(c.window(), now, cost)
		c.setWindow(w)
		return r
	}
}

func (c *cell) takeSlot(cost int64) limit.Result {
	left := max(0, min(c.limit.Max, most)-countOf(c.word))
	if cost > left {
		return limit.Result{Remaining: left}
	}
	c.word += uint64(cost) << 32
	return limit.Result{OK: true, Remaining: left - cost}
}

// handle is what a grant tells, so that a refund knows what it may give back.
func (c *cell) handle() uint64 {
	if c.limit.Algorithm == store.FixedWindow {
		return uint64(c.extra)
	}
	return c.word
}

// owesNothing reports whether an entry, whose lock is held, can be forgotten.
// The word may have changed when it returns.
func (s *Store) owesNothing(sh *shard, e *entry, word uint64, now int64) (uint64, bool) {
	version := uint16(e.name.Load())
	if version == 0 {
		c := cell{word: word, extra: e.extra}
		c.prune(&sh.holders, now)
		e.extra = c.extra
		return c.word, countOf(c.word) == 0
	}
	c := cell{word, e.extra, s.versions.view.Load().limits[version].Load(), version}
	c.age(now)
	return word, c.word == 0
}

// settle changes what is owed by what a return says, at its moment. The state
// may be that of a later limit than the one that was charged.
func (c *cell) settle(r *store.Return, now int64) {
	switch {
	case r.Reset:
		c.word = 0
	case r.Tokens > 0:
		c.give(r, now)
	case r.Tokens < 0 && c.limit.Algorithm == store.TokenBucket:
		c.word = uint64(c.limit.GCRA.Charge(limit.Debt(c.word), positive(r.Tokens)))
	case r.Tokens < 0:
		c.setWindow(c.limit.Window.Charge(c.window(), now, positive(r.Tokens)))
	}
}

// positive is −n, saturating.
func positive(n int64) int64 { return -max(n, -math.MaxInt64) }

// give returns tokens to the state that they were taken from. Under the limit
// that was charged that is exact; after a change of the limit only whole
// tokens that have not refilled come back. Without a grant it is what is owed.
func (c *cell) give(r *store.Return, now int64) {
	tokens, taken, left := r.Tokens, r.At, limit.Debt(math.MaxInt64)
	handle := r.Handle &^ spilled
	switch {
	case r.AnyGrant:
		taken = now
	case r.Limit.Fingerprint != c.limit.Fingerprint:
		tokens = min(tokens, outstanding(r, handle, now))
	case r.Limit.Algorithm == store.TokenBucket:
		left = r.Limit.GCRA.After(limit.Debt(handle), elapsed(r.At, now))
	default:
		taken = max(taken, int64(handle))
	}
	if c.limit.Algorithm == store.TokenBucket {
		c.word = uint64(c.limit.GCRA.Give(limit.Debt(c.word), tokens, left))
	} else {
		c.setWindow(c.limit.Window.Give(c.window(), taken, tokens))
	}
}

// outstanding is how many whole tokens of the charged limit have not refilled
// since, whatever others took.
func outstanding(r *store.Return, handle uint64, now int64) int64 {
	if g := &r.Limit.GCRA; r.Limit.Algorithm == store.TokenBucket {
		return g.Whole(g.After(limit.Debt(handle), elapsed(r.At, now)))
	}
	if elapsed(int64(handle), now) >= uint64(r.Limit.Window.Window) {
		return 0
	}
	return math.MaxInt64
}

func elapsed(from, to int64) uint64 { return uint64(max(from, to)) - uint64(from) }
