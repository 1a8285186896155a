package limit

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// GCRA is a token bucket in the form of the generic cell rate algorithm (ITU-T
// I.371; ATM Forum TM 4.1): the state is one moment, the theoretical arrival
// time, TAT. In any window W it admits at most burst + rate·W tokens.
//
// A token's emission interval T = period/count is rarely a whole number of
// nanoseconds. Time is therefore counted in units of which a nanosecond has
// exactly unit and a token exactly interval, both whole: nothing is rounded,
// however fast or odd the rate. Only where a full bucket of such units would
// not fit a word (some hundred thousand tokens a day, and no common divisor)
// the nearest slower rate that fits is taken instead; it is slower by less
// than a billionth.
type GCRA struct {
	interval uint64 // units that a token costs, T
	unit     uint64 // units in a nanosecond
	capacity uint64 // units that may be owed, τ = burst·T
	slack    uint64 // units that a clock may be behind before it counts as set back
	burst    int64
}

// Debt is how many units of time a bucket is ahead of the clock at a moment,
// max(0, TAT − now). Zero, an unused bucket, is full.
type Debt uint64

// Bucket is a token bucket's state: what it owed, and the moment when it did,
// in nanoseconds. The zero value is a full bucket.
type Bucket struct {
	Debt Debt
	At   int64
}

// maxSpan bounds τ and slack: their sum, the most that is ever owed, takes 63
// bits, and with one more cost 64.
const maxSpan = 1 << 62

// maxDebt is the most that is owed, whatever clocks say: it takes 63 bits.
const maxDebt = 1<<63 - 1

// behind is how far a clock may be behind the newest moment seen before it
// counts as set back: requests are stamped when they arrive, and may be
// decided in another order.
const behind = time.Second

// NewGCRA prepares a bucket of burst tokens that fills at a rate. Burst must
// be 1 or more. A rate whose count is 0, or a burst too long to fill, is an
// error: deny with a limit of nothing instead.
func NewGCRA(r Rate, burst int64) (GCRA, error) {
	if err := r.Validate(); err != nil {
		return GCRA{}, err
	}
	if r.Count == 0 {
		return GCRA{}, errors.New("limit: a token bucket needs a rate above 0")
	}
	if burst < 1 {
		return GCRA{}, fmt.Errorf("limit: burst must be 1 or more, got %d", burst)
	}
	unit, interval := notFaster(uint64(r.Count), uint64(r.Period), maxSpan/uint64(burst))
	if unit == 0 {
		return GCRA{}, fmt.Errorf("limit: a burst of %d at %s is too long to count; lower the burst or use a simpler rate", burst, r)
	}
	g := GCRA{interval: interval, unit: unit, capacity: uint64(burst) * interval, burst: burst}
	g.slack = max(g.capacity-g.interval, min(product(uint64(behind), unit), maxSpan-1))
	return g, nil
}

// Owed is what a bucket owes at a moment.
//
// A moment before the bucket's own one refills nothing. It is waited for when
// it is behind by up to a second, or by less than a full bucket's time, and the
// debt then exceeds a full bucket's; when it is behind by more, the clock was
// set back, and a full bucket is owed, or what was owed if waiting does not
// explain it. A bucket that owes nothing
// is as if never used, at any moment.
func (g *GCRA) Owed(b Bucket, now int64) Debt {
	if now < b.At {
		return g.owedBefore(b, now)
	}
	return b.Debt - min(b.Debt, Debt(product(uint64(now)-uint64(b.At), g.unit)))
}

func (g *GCRA) owedBefore(b Bucket, now int64) Debt {
	if b.Debt == 0 {
		return 0
	}
	d, most := uint64(min(b.Debt, maxDebt)), g.capacity+g.slack
	later := product(uint64(b.At)-uint64(now), g.unit)
	switch owed := min(d+later, maxDebt); {
	case owed <= most:
		return Debt(owed)
	case later <= g.slack && d <= most:
		return Debt(most)
	case later <= g.slack:
		return Debt(owed)
	case d <= most:
		return Debt(g.capacity)
	}
	return Debt(d)
}

// Take asks for cost tokens of a bucket that owes d.
func (g *GCRA) Take(d Debt, cost int64) (Debt, Result) {
	if cost < 0 || cost > g.burst {
		return d, Result{Remaining: g.remaining(d), RetryAfter: Never, ResetAfter: g.toDuration(uint64(d))}
	}
	after := d + Debt(uint64(cost)*g.interval)
	if after > Debt(g.capacity) {
		return d, Result{
			Remaining:  g.remaining(d),
			RetryAfter: g.toDuration(uint64(after) - g.capacity),
			ResetAfter: g.toDuration(uint64(d)),
		}
	}
	return after, Result{OK: true, Remaining: g.remaining(after), ResetAfter: g.toDuration(uint64(after))}
}

// Pass is Take for who asks no more than whether it passes; Left tells the rest
// of what passed.
func (g *GCRA) Pass(d Debt, cost int64) (after Debt, ok bool) {
	if cost < 0 || cost > g.burst {
		return d, false
	}
	after = d + Debt(uint64(cost)*g.interval)
	if after > Debt(g.capacity) {
		return d, false
	}
	return after, true
}

// Left is how many tokens are left of a bucket that owes d, and how long it
// takes to be full.
func (g *GCRA) Left(d Debt) (remaining int64, reset time.Duration) {
	return g.remaining(d), g.toDuration(uint64(d))
}

// Give returns cost tokens to a bucket that owes d, never above full. left is
// what remained by now of the debt that the charge led to, After(debt, elapsed):
// a bucket that refilled in the meantime has forgotten the charge, and gives
// nothing for it.
func (g *GCRA) Give(d Debt, cost int64, left Debt) Debt {
	return d - min(d, left, g.worth(cost))
}

// deepest is how many full buckets a charge may make a bucket owe.
const deepest = 11

// deep is the most tokens that may be owed of a limit.
func deep(limit int64) int64 {
	return int64(min(product(uint64(max(limit, 0)), deepest), math.MaxInt64))
}

// Charge takes cost tokens whether they are there or not: what a caller owes
// for work that is done already. It may leave a bucket below empty, by ten
// more bursts at most, and nothing passes until that has refilled.
func (g *GCRA) Charge(d Debt, cost int64) Debt {
	most := Debt(min(product(g.capacity, deepest), maxSpan))
	return max(d, min(d+min(g.worth(cost), most), most))
}

// After is what is left of a debt when elapsed nanoseconds have passed.
func (g *GCRA) After(d Debt, elapsed uint64) Debt {
	return d - min(d, Debt(product(elapsed, g.unit)))
}

// Convert carries a debt over from another limit: what was spent stays spent,
// all of it, counted in tokens and rounded up to a unit, so raising a limit
// never lowers what remains and lowering it mints nothing.
//
// It does not if more is spent than a bucket of g holds, and g does not refill
// faster: the caller would be locked out for longer than either limit says. Such
// a debt stays from's, and is paid at from's rate, until it fits; till then
// nothing passes. However often limits change, in a window W there pass at most
// the largest of their bursts and the fastest of their rates times W.
func (g *GCRA) Convert(from *GCRA, d Debt) (converted Debt, ok bool) {
	if *from == *g {
		return d, true
	}
	converted = Debt(min(ceilMulDiv(uint64(d), g.interval, from.interval), maxSpan))
	return converted, converted <= Debt(g.capacity) || g.faster(from)
}

func (g *GCRA) faster(than *GCRA) bool {
	high, low := bits.Mul64(g.unit, than.interval)
	otherHigh, otherLow := bits.Mul64(than.unit, g.interval)
	return high > otherHigh || high == otherHigh && low > otherLow
}

// Holding is g with another burst, which may be smaller than what is spent: it
// tells when a debt that Convert leaves fits.
func (g GCRA) Holding(burst int64) GCRA {
	g.burst, g.capacity = burst, uint64(g.worth(burst))
	return g
}

// Spent is a debt in tokens, rounded up. It may be more than a burst.
func (g *GCRA) Spent(d Debt) int64 { return int64(ceilMulDiv(uint64(d), 1, g.interval)) }

// Whole is how many whole tokens a debt is worth.
func (g *GCRA) Whole(d Debt) int64 { return int64(uint64(min(d, Debt(g.capacity))) / g.interval) }

// Owing is the debt of a bucket of which this many tokens are spent.
func (g *GCRA) Owing(spent int64) Debt { return min(g.worth(spent), Debt(g.capacity)) }

// Interval is the emission interval, rounded up to a nanosecond.
func (g *GCRA) Interval() time.Duration { return g.toDuration(g.interval) }

// Capacity is the debt of an empty bucket.
func (g *GCRA) Capacity() Debt { return Debt(g.capacity) }

func (g *GCRA) worth(tokens int64) Debt {
	return Debt(product(uint64(max(tokens, 0)), g.interval))
}

func (g *GCRA) remaining(d Debt) int64 {
	return int64((g.capacity - min(uint64(d), g.capacity)) / g.interval)
}

// toDuration is the time that units take, rounded up to a nanosecond.
func (g *GCRA) toDuration(units uint64) time.Duration {
	if g.unit == 1 {
		return time.Duration(min(units, math.MaxInt64))
	}
	return time.Duration(ceilMulDiv(units, 1, g.unit))
}
