package memstore

import (
	"math"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// settle changes what is owed by what a return says, at its moment. The state
// may be that of a later limit than the one that was charged.
func (c *cell) settle(r *store.Return, now int64) {
	switch {
	case r.Reset:
		c.reset()
	case r.Tokens > 0:
		c.give(r, now)
	case r.Tokens < 0:
		c.charge(positive(r.Tokens), now)
	}
}

// positive is −n, saturating.
func positive(n int64) int64 { return -max(n, -math.MaxInt64) }

// charge takes tokens whether they are there or not.
func (c *cell) charge(tokens, now int64) {
	switch l := c.limit; l.Algorithm {
	case store.TokenBucket:
		c.word = uint64(l.GCRA.Charge(limit.Debt(c.word), tokens))
	case store.FixedWindow:
		c.setWindow(l.Window.Charge(c.window(), now, tokens))
	case store.SlidingWindow:
		c.setSliding(l.Sliding.Charge(c.sliding(), now, tokens))
	case store.SlidingLog:
		there := min(tokens, max(0, l.Log.Limit-c.spent(now)))
		c.spendLog(now, there)
		l.Log.Renew(c.log(), now, tokens-there)
	case store.StrictWindow:
		c.spendStrict(now, min(tokens, max(0, l.Strict.Most()-c.spent(now))))
	case store.LeakyBucket:
		c.setLeaky(l.Leaky.Charge(c.leaky(), now, tokens))
	}
}

// give returns tokens to the state that they were taken from. Under the limit
// that was charged that is exact; after a change of the limit only whole
// tokens that have not refilled come back. Without a grant it is what is owed.
func (c *cell) give(r *store.Return, now int64) {
	tokens, taken := r.Tokens, r.At
	left := uint64(math.MaxInt64)
	switch handle := r.Handle &^ spilled; {
	case r.AnyGrant:
		taken = c.newest(now)
	case !same(r.Limit, c.limit):
		tokens = min(tokens, outstanding(r.Limit, handle, r.At, now))
	default:
		taken, left = int64(handle), leftOf(r.Limit, handle, r.At, now)
	}
	switch l := c.limit; l.Algorithm {
	case store.TokenBucket:
		c.word = uint64(l.GCRA.Give(limit.Debt(c.word), tokens, limit.Debt(left)))
	case store.FixedWindow:
		c.setWindow(l.Window.Give(c.window(), taken, tokens))
	case store.SlidingWindow:
		c.setSliding(l.Sliding.Give(c.sliding(), taken, tokens))
	case store.SlidingLog:
		if c.word != 0 {
			c.keepLog(l.Log.Give(c.log(), taken, tokens))
		}
	case store.StrictWindow:
		if w := c.strict(now); c.word != 0 {
			l.Strict.Give(&w, taken, tokens)
			c.ageStrict(now)
		}
	case store.LeakyBucket:
		b := l.Leaky.Give(l.Leaky.At(c.leaky(), now), tokens, int64(min(left, math.MaxInt64)))
		c.setLeaky(b)
	}
}

// newest is the moment of the newest tokens that are owed.
func (c *cell) newest(now int64) int64 {
	switch c.limit.Algorithm {
	case store.SlidingLog:
		if log := c.log(); len(log) > 0 {
			return log[len(log)-1]
		}
	case store.StrictWindow:
		w := c.strict(now)
		return c.limit.Strict.Taken(&w, now)
	default: // of the others there is nothing to do here
	}
	return now
}

// leftOf is what a bucket would still owe, had nobody asked since the grant.
func leftOf(l *store.Limit, handle uint64, at, now int64) uint64 {
	switch l.Algorithm {
	case store.TokenBucket:
		return uint64(l.GCRA.After(limit.Debt(handle), elapsed(at, now)))
	case store.LeakyBucket:
		return uint64(l.Leaky.Left(int64(handle), elapsed(at, now)))
	default: // of the others there is nothing to do here
	}
	return math.MaxInt64
}

// outstanding is how many whole tokens of the charged limit have not refilled
// since, whatever others took. Those of a window that counts by shares are
// outstanding in their own window only.
func outstanding(l *store.Limit, handle uint64, at, now int64) int64 {
	taken := int64(handle)
	switch l.Algorithm {
	case store.TokenBucket:
		return l.GCRA.Whole(limit.Debt(leftOf(l, handle, at, now)))
	case store.LeakyBucket:
		return int64(leftOf(l, handle, at, now)) / 1000
	case store.FixedWindow:
		w := l.Window.At(limit.Window{}, taken)
		w.Used = 1
		if l.Window.At(w, now).Used > 0 {
			return math.MaxInt64
		}
		return 0
	case store.SlidingWindow:
		taken -= taken % int64(l.Rate.Period)
	default: // of the others there is nothing to do here
	}
	if elapsed(taken, now) < uint64(l.Rate.Period) {
		return math.MaxInt64
	}
	return 0
}

func elapsed(from, to int64) uint64 { return uint64(max(from, to)) - uint64(from) }
