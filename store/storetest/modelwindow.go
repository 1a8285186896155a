package storetest

import (
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// late is how far a stamp may be behind before the clock counts as set back.
const late = int64(time.Second)

// windowCounter is a fixed window.
type windowCounter struct {
	limit       *store.Limit
	start, used int64
}

func (c *windowCounter) period() int64 { return int64(c.limit.Rate.Period) }

func (c *windowCounter) under(l *store.Limit) { c.limit = l }

func (c *windowCounter) clone() counter { d := *c; return &d }

func (c *windowCounter) settle(now int64) {
	if start := now - now%c.period(); start > c.start || c.used == 0 {
		c.start, c.used = start, 0
	} else if c.start-now > late {
		c.start = start
	}
}

func (c *windowCounter) ask(now, cost int64) (g store.Grant) {
	if g.OK = cost <= max(0, c.limit.Burst-c.used); !g.OK {
		g.RetryAfter = time.Duration(c.start + c.period() - now)
	}
	return g
}

func (c *windowCounter) take(_, cost int64) { c.used += cost }

func (c *windowCounter) figures(now int64) (g store.Grant) {
	g.Remaining = max(0, c.limit.Burst-c.used)
	if c.used > 0 {
		g.ResetAfter = time.Duration(c.start + c.period() - now)
	}
	return g
}

func (c *windowCounter) spent(int64) int64 { return c.used }

func (c *windowCounter) memo(now int64) memo { return memo{taken: max(now, c.start)} }

func (c *windowCounter) outstanding(m memo, _, now int64) int64 {
	if now/c.period() > m.taken/c.period() {
		return 0
	}
	return math.MaxInt64
}

func (c *windowCounter) give(m memo, tokens, _, now int64) { c.lower(tokens, m.taken, now) }

func (c *windowCounter) lower(tokens, taken, _ int64) {
	if taken >= c.start && taken < c.start+c.period() {
		c.used -= min(c.used, tokens)
	}
}

func (c *windowCounter) charge(tokens, _ int64) {
	c.used += min(tokens, max(0, c.limit.Burst-c.used))
}

func (c *windowCounter) newest(now int64) int64 { return now }

// slidingCounter weighs two windows.
type slidingCounter struct {
	limit                    *store.Limit
	start, current, previous int64
}

func (c *slidingCounter) period() int64 { return int64(c.limit.Rate.Period) }

func (c *slidingCounter) under(l *store.Limit) { c.limit = l }

func (c *slidingCounter) clone() counter { d := *c; return &d }

func (c *slidingCounter) settle(now int64) {
	start := now - now%c.period()
	switch {
	case c.current == 0 && c.previous == 0:
		c.start = start
	case start == c.start+c.period():
		c.start, c.current, c.previous = start, 0, c.current
	case start > c.start:
		c.start, c.current, c.previous = start, 0, 0
	case c.start-now > late:
		c.start, c.current, c.previous = start, min(c.current+c.previous, c.limit.Burst), 0
	}
}

// counts is what counts at a moment: the current window, and the share of the
// last one that is less than a window's length ago.
func (c *slidingCounter) counts(now int64) int64 {
	rest := c.period() - max(0, now-c.start)
	share := ceil(times(big.NewInt(c.previous), rest), big.NewInt(c.period()))
	return c.current + share.Int64()
}

func (c *slidingCounter) ask(now, cost int64) (g store.Grant) {
	if g.OK = cost <= max(0, c.limit.Burst-c.counts(now)); g.OK {
		return g
	}
	// The first moment at which it passes, by halving: less counts the later it is.
	early, passes := now, c.start+2*c.period()
	for passes-early > 1 {
		middle := early + (passes-early)/2
		then := *c
		then.settle(max(middle, then.start))
		if then.counts(middle)+cost <= c.limit.Burst {
			passes = middle
		} else {
			early = middle
		}
	}
	g.RetryAfter = time.Duration(passes - now)
	return g
}

func (c *slidingCounter) take(_, cost int64) { c.current += cost }

func (c *slidingCounter) figures(now int64) (g store.Grant) {
	g.Remaining = max(0, c.limit.Burst-c.counts(now))
	if c.current > 0 {
		g.ResetAfter = time.Duration(c.start + 2*c.period() - now)
	} else if c.previous > 0 {
		g.ResetAfter = time.Duration(c.start + c.period() - now)
	}
	return g
}

func (c *slidingCounter) spent(now int64) int64 { return c.counts(now) }

func (c *slidingCounter) memo(now int64) memo { return memo{taken: max(now, c.start)} }

func (c *slidingCounter) outstanding(m memo, _, now int64) int64 {
	if now/c.period() > m.taken/c.period() {
		return 0
	}
	return math.MaxInt64
}

func (c *slidingCounter) give(m memo, tokens, _, now int64) { c.lower(tokens, m.taken, now) }

func (c *slidingCounter) lower(tokens, taken, _ int64) {
	switch {
	case taken >= c.start && taken < c.start+c.period():
		c.current -= min(c.current, tokens)
	case taken < c.start && taken >= c.start-c.period():
		c.previous -= min(c.previous, tokens)
	}
}

func (c *slidingCounter) charge(tokens, now int64) {
	most := max(c.limit.Burst, min(eleven(c.limit.Burst), math.MaxInt32))
	c.current += min(tokens, max(0, most-c.counts(now)))
}

// eleven is the most that may be owed of a limit.
func eleven(n int64) int64 {
	if n > math.MaxInt64/11 {
		return math.MaxInt64
	}
	return 11 * n
}

func (c *slidingCounter) newest(now int64) int64 { return now }

// strictCounter counts in parts of the window, and one more.
type strictCounter struct {
	limit *store.Limit
	parts map[int64]int64
	last  int64 // the newest part
}

const strictParts = 15

func (c *strictCounter) length() int64 {
	return (int64(c.limit.Rate.Period) + strictParts - 1) / strictParts
}

func (c *strictCounter) under(l *store.Limit) { c.limit = l }

func (c *strictCounter) clone() counter {
	d := &strictCounter{c.limit, map[int64]int64{}, c.last}
	for part, n := range c.parts {
		d.parts[part] = n
	}
	return d
}

func (c *strictCounter) settle(now int64) {
	part := now / c.length()
	if part < c.last && len(c.parts) > 0 {
		if c.last*c.length()-now <= late {
			return
		}
		c.parts = map[int64]int64{part: min(c.spent(now), c.limit.Burst)}
	}
	c.last = part
	for part := range c.parts {
		if part < c.last-strictParts {
			delete(c.parts, part)
		}
	}
}

func (c *strictCounter) ask(now, cost int64) (g store.Grant) {
	used := c.spent(now)
	if g.OK = cost <= max(0, c.limit.Burst-used); g.OK {
		return g
	}
	for _, part := range c.sorted() {
		g.RetryAfter = c.leaves(part, now)
		if used -= c.parts[part]; used+cost <= c.limit.Burst {
			break
		}
	}
	return g
}

func (c *strictCounter) sorted() (list []int64) {
	for part, n := range c.parts {
		if n > 0 {
			list = append(list, part)
		}
	}
	slices.Sort(list)
	return list
}

func (c *strictCounter) leaves(part, now int64) time.Duration {
	return time.Duration((part+strictParts+1)*c.length() - now)
}

func (c *strictCounter) take(_, cost int64) {
	if cost > 0 {
		c.parts[c.last] += cost
	}
}

func (c *strictCounter) figures(now int64) (g store.Grant) {
	g.Remaining = max(0, c.limit.Burst-c.spent(now))
	if list := c.sorted(); len(list) > 0 {
		g.ResetAfter = c.leaves(list[len(list)-1], now)
	}
	return g
}

func (c *strictCounter) spent(int64) (n int64) {
	for _, used := range c.parts {
		n += used
	}
	return n
}

func (c *strictCounter) memo(now int64) memo { return memo{taken: max(now, c.last*c.length())} }

func (c *strictCounter) outstanding(m memo, _, now int64) int64 {
	if now-m.taken >= int64(c.limit.Rate.Period) {
		return 0
	}
	return math.MaxInt64
}

func (c *strictCounter) give(m memo, tokens, _, now int64) { c.lower(tokens, m.taken, now) }

func (c *strictCounter) lower(tokens, taken, now int64) {
	part := taken / c.length()
	if n := c.parts[part]; n > 0 {
		c.parts[part] = n - min(n, tokens)
	}
	if c.spent(now) == 0 {
		clear(c.parts)
	}
}

func (c *strictCounter) charge(tokens, now int64) {
	c.take(now, min(tokens, max(0, eleven(c.limit.Burst)-c.spent(now))))
}

func (c *strictCounter) newest(now int64) int64 { return max(now, c.last*c.length()) }

// logCounter remembers when each token was taken.
type logCounter struct {
	limit *store.Limit
	taken []int64
}

func (c *logCounter) period() int64 { return int64(c.limit.Rate.Period) }

func (c *logCounter) under(l *store.Limit) { c.limit = l }

func (c *logCounter) clone() counter { return &logCounter{c.limit, slices.Clone(c.taken)} }

func (c *logCounter) settle(now int64) {
	if n := len(c.taken); n > 0 && c.taken[n-1]-now > late {
		for i := range c.taken {
			c.taken[i] = min(c.taken[i], now)
		}
	}
	c.taken = slices.DeleteFunc(c.taken, func(at int64) bool { return at+c.period() <= now })
}

func (c *logCounter) ask(now, cost int64) (g store.Grant) {
	over := int64(len(c.taken)) + cost - c.limit.Burst
	if g.OK = over <= 0; !g.OK {
		g.RetryAfter = time.Duration(c.taken[over-1] + c.period() - now)
	}
	return g
}

func (c *logCounter) take(now, cost int64) {
	for range cost {
		c.taken = append(c.taken, max(now, c.newest(now)))
	}
}

func (c *logCounter) newest(now int64) int64 {
	if n := len(c.taken); n > 0 {
		return c.taken[n-1]
	}
	return now
}

func (c *logCounter) figures(now int64) (g store.Grant) {
	n := len(c.taken)
	if g.Remaining = max(0, c.limit.Burst-int64(n)); n > 0 {
		g.ResetAfter = time.Duration(c.taken[n-1] + c.period() - now)
	}
	return g
}

func (c *logCounter) spent(int64) int64 { return int64(len(c.taken)) }

func (c *logCounter) memo(now int64) memo { return memo{taken: max(now, c.newest(now))} }

func (c *logCounter) outstanding(m memo, _, now int64) int64 {
	if now-m.taken >= c.period() {
		return 0
	}
	return math.MaxInt64
}

func (c *logCounter) give(m memo, tokens, _, now int64) { c.lower(tokens, m.taken, now) }

func (c *logCounter) lower(tokens, taken, _ int64) {
	c.taken = slices.DeleteFunc(c.taken, func(at int64) bool {
		tokens--
		if at != taken {
			tokens++
		}
		return at == taken && tokens >= 0
	})
}

func (c *logCounter) charge(tokens, now int64) {
	at := max(now, c.newest(now)) // also when the newest is among those that are taken again
	there := min(tokens, max(0, c.limit.Burst-int64(len(c.taken))))
	c.take(at, there)
	again := min(tokens-there, int64(len(c.taken)))
	c.taken = c.taken[again:]
	c.take(at, again)
}
