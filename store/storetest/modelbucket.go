package storetest

import (
	"math"
	"math/big"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// bucketCounter is a token bucket: how far it is ahead of a moment, in units of
// which a nanosecond and a token have whole numbers.
type bucketCounter struct {
	limit *store.Limit
	owed  *big.Int
	at    int64
}

func newBucket(l *store.Limit, spent, now int64) *bucketCounter {
	c := &bucketCounter{l, new(big.Int), now}
	c.charge(spent, now)
	return c
}

// units are how many units a nanosecond has and a token takes: whole numbers,
// as small as they can be.
func units(l *store.Limit) (nanosecond, token *big.Int) {
	count, period := big.NewInt(l.Rate.Count), big.NewInt(int64(l.Rate.Period))
	gcd := new(big.Int).GCD(nil, nil, count, period)
	return count.Div(count, gcd), period.Div(period, gcd)
}

func times(a *big.Int, n int64) *big.Int { return new(big.Int).Mul(a, big.NewInt(n)) }

func ceil(a, b *big.Int) *big.Int {
	q, rem := new(big.Int).DivMod(a, b, new(big.Int))
	if rem.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// full is the debt of an empty bucket, and patience how much further behind a
// clock may be before it counts as set back.
func (c *bucketCounter) full() (capacity, patience *big.Int) {
	nanosecond, token := units(c.limit)
	capacity = times(token, c.limit.Burst)
	patience = new(big.Int).Sub(capacity, token)
	if second := times(nanosecond, int64(time.Second)); second.Cmp(patience) > 0 {
		patience = second
	}
	return capacity, patience
}

// nanoseconds is how long units take, rounded up.
func (c *bucketCounter) nanoseconds(u *big.Int) time.Duration {
	nanosecond, _ := units(c.limit)
	if ns := ceil(u, nanosecond); ns.IsInt64() {
		return time.Duration(ns.Int64())
	}
	return math.MaxInt64
}

func (c *bucketCounter) under(l *store.Limit) { c.limit = l }

func (c *bucketCounter) clone() counter {
	return &bucketCounter{c.limit, new(big.Int).Set(c.owed), c.at}
}

func (c *bucketCounter) settle(now int64) {
	nanosecond, _ := units(c.limit)
	capacity, patience := c.full()
	most := new(big.Int).Add(capacity, patience)
	beyond, late := c.owed.Cmp(most) > 0, times(nanosecond, c.at-now).Cmp(patience) <= 0
	if beyond && !late {
		c.at = now
	}
	if c.owed.Sign() > 0 {
		c.owed.Sub(c.owed, times(nanosecond, now-c.at))
	}
	if c.owed.Sign() < 0 {
		c.owed.SetInt64(0)
	}
	switch {
	case beyond || c.owed.Cmp(most) <= 0: // what is owed beyond a bucket is owed whatever the clock does
	case late:
		c.owed.Set(most)
	default:
		c.owed.Set(capacity)
	}
	c.at = now
}

func (c *bucketCounter) convert(to *store.Limit) counter {
	_, before := units(c.limit)
	_, after := units(to)
	converted := &bucketCounter{to, ceil(times(new(big.Int).Mul(c.owed, after), 1), before), c.at}
	return converted
}

func (c *bucketCounter) ask(_, cost int64) (g store.Grant) {
	_, token := units(c.limit)
	capacity, _ := c.full()
	over := new(big.Int).Add(c.owed, times(token, cost))
	if over.Sub(over, capacity).Sign() > 0 {
		g.RetryAfter = c.nanoseconds(over)
		return g
	}
	g.OK = true
	return g
}

func (c *bucketCounter) take(_, cost int64) {
	_, token := units(c.limit)
	c.owed.Add(c.owed, times(token, cost))
}

func (c *bucketCounter) figures(int64) (g store.Grant) {
	_, token := units(c.limit)
	capacity, _ := c.full()
	left := new(big.Int).Sub(capacity, c.owed)
	g.Remaining = max(0, left.Div(left, token).Int64())
	g.ResetAfter = c.nanoseconds(c.owed)
	return g
}

func (c *bucketCounter) spent(int64) int64 {
	_, token := units(c.limit)
	return ceil(c.owed, token).Int64()
}

func (c *bucketCounter) memo(int64) memo { return memo{owed: new(big.Int).Set(c.owed)} }

// notRefilled is what a bucket would still owe, had nobody asked since.
func (c *bucketCounter) notRefilled(m memo, at, now int64) *big.Int {
	nanosecond, _ := units(c.limit)
	left := new(big.Int).Sub(m.owed, times(nanosecond, max(0, now-at)))
	if left.Sign() < 0 {
		left.SetInt64(0)
	}
	return left
}

func (c *bucketCounter) outstanding(m memo, at, now int64) int64 {
	_, token := units(c.limit)
	left := c.notRefilled(m, at, now)
	return min(left.Div(left, token).Int64(), c.limit.Burst)
}

func (c *bucketCounter) give(m memo, tokens, at, now int64) {
	c.reduce(tokens, c.notRefilled(m, at, now))
}

func (c *bucketCounter) lower(tokens, _, _ int64) { c.reduce(tokens, c.owed) }

func (c *bucketCounter) reduce(tokens int64, most *big.Int) {
	_, token := units(c.limit)
	back := times(token, tokens)
	if back.Cmp(most) > 0 {
		back = most
	}
	if c.owed = new(big.Int).Sub(c.owed, back); c.owed.Sign() < 0 {
		c.owed.SetInt64(0)
	}
}

func (c *bucketCounter) charge(tokens, _ int64) {
	_, token := units(c.limit)
	capacity, _ := c.full()
	after, most := new(big.Int).Add(c.owed, times(token, tokens)), times(capacity, 11)
	if bound := big.NewInt(1 << 62); most.Cmp(bound) > 0 {
		most = bound
	}
	if after.Cmp(most) > 0 {
		after = most
	}
	if after.Cmp(c.owed) > 0 {
		c.owed = after
	}
}

func (c *bucketCounter) newest(now int64) int64 { return now }

// leakyCounter is NGINX's limit_req: level is a request more than its excess,
// in thousandths, counted at the millisecond last.
type leakyCounter struct {
	limit       *store.Limit
	level, last int64
}

func (c *leakyCounter) rate() int64 {
	r := times(big.NewInt(c.limit.Rate.Count), 1000*int64(time.Second))
	return r.Div(r, big.NewInt(int64(c.limit.Rate.Period))).Int64()
}

func (c *leakyCounter) under(l *store.Limit) { c.limit = l }

func (c *leakyCounter) clone() counter { d := *c; return &d }

// settle forgets what has leaked as a whole, and nothing else: NGINX rounds by
// the time between requests that it admits.
func (c *leakyCounter) settle(now int64) {
	if c.now(now) == 0 {
		c.level = 0
	}
}

// now is the level of a moment.
func (c *leakyCounter) now(now int64) int64 {
	passed := now/1e6 - c.last
	if passed < -60_000 {
		passed = 1
	}
	return max(0, c.level-c.leaked(passed))
}

func (c *leakyCounter) leaked(ms int64) int64 {
	l := times(big.NewInt(c.rate()), max(0, ms))
	if l.Div(l, big.NewInt(1000)); l.IsInt64() {
		return l.Int64()
	}
	return math.MaxInt64
}

func (c *leakyCounter) ask(now, cost int64) (g store.Grant) {
	if g.OK = cost == 0 || c.now(now)+1000*cost <= 1000*c.limit.Burst; !g.OK {
		g.RetryAfter = c.until(now, c.level+1000*cost-1000*c.limit.Burst)
	}
	return g
}

// until is how long it takes until so much of the level has leaked.
func (c *leakyCounter) until(now, leak int64) time.Duration {
	if leak <= 0 {
		return 0
	}
	ms := (leak*1000 + c.rate() - 1) / c.rate()
	return time.Duration((c.last+ms)*1e6 - now)
}

func (c *leakyCounter) take(now, cost int64) {
	if cost == 0 {
		return
	}
	level := c.now(now)
	if passed := now/1e6 - c.last; level == 0 || passed > 0 || passed < -60_000 {
		c.last = now / 1e6
	}
	c.level = level + 1000*cost
}

// delay is how long the request is held that led to the level.
func (c *leakyCounter) delay() time.Duration {
	return time.Duration(max(0, c.level-1000*(c.limit.Delay+1))*1000/c.rate()) * time.Millisecond
}

func (c *leakyCounter) figures(now int64) (g store.Grant) {
	g.Remaining = max(0, 1000*c.limit.Burst-c.now(now)) / 1000
	g.ResetAfter = c.until(now, c.level)
	return g
}

func (c *leakyCounter) spent(now int64) int64 { return (c.now(now) + 999) / 1000 }

func (c *leakyCounter) memo(int64) memo { return memo{owed: big.NewInt(c.level)} }

func (c *leakyCounter) notLeaked(m memo, at, now int64) int64 {
	return max(0, m.owed.Int64()-c.leaked(max(0, now-at)/1e6))
}

func (c *leakyCounter) outstanding(m memo, at, now int64) int64 {
	return c.notLeaked(m, at, now) / 1000
}

func (c *leakyCounter) give(m memo, tokens, at, now int64) {
	c.reduce(min(tokens, c.limit.Burst)*1000, c.notLeaked(m, at, now), now)
}

func (c *leakyCounter) lower(tokens, _, now int64) {
	c.reduce(min(tokens, c.limit.Burst)*1000, math.MaxInt64, now)
}

func (c *leakyCounter) reduce(level, most, now int64) {
	c.bring(now)
	c.level -= min(c.level, level, most)
}

// bring leaks what has leaked by a moment.
func (c *leakyCounter) bring(now int64) {
	level := c.now(now)
	if passed := now/1e6 - c.last; c.level > 0 && (passed > 0 || passed < -60_000) {
		c.last = now / 1e6
	}
	c.level = level
}

func (c *leakyCounter) charge(tokens, now int64) {
	c.bring(now)
	if c.level == 0 {
		c.last = now / 1e6
	}
	c.level = max(c.level, min(c.level+1000*min(tokens, 11*c.limit.Burst), 11_000*c.limit.Burst))
}

func (c *leakyCounter) newest(now int64) int64 { return now }
