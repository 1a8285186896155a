package limit

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// GCRA is a token bucket in the form of the generic cell rate algorithm (ITU-T
// I.371; ATM Forum TM 4.1): the state is one moment, the theoretical arrival
// time, TAT. In any window W it admits at most burst + rate·W tokens.
//
// A token's emission interval T = period/count is rarely a whole number of
// nanoseconds. Time is therefore counted in units of which a nanosecond has
// exactly unit and a token exactly interval, both whole: nothing is rounded,
// however fast or odd the rate.
type GCRA struct {
	interval uint64 // units that a token costs, T
	unit     uint64 // units in a nanosecond
	capacity uint64 // units that may be owed, τ = burst·T
	burst    int64
}

// Debt is the state of a bucket at a moment: how many units of time it is
// ahead of the clock, max(0, TAT − now). Zero, an unused bucket, is full.
type Debt uint64

// maxSpan bounds τ, so that a debt and any sum with one more cost fit a word.
const maxSpan = math.MaxInt64 / 2

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
	count, period := uint64(r.Count), uint64(r.Period)
	divisor := gcd(count, period)
	g := GCRA{interval: period / divisor, unit: count / divisor, burst: burst}
	span, exact := mulDiv(uint64(burst), g.interval, 1)
	if !exact || span > maxSpan {
		return GCRA{}, fmt.Errorf("limit: a burst of %d at %s is too long to count; lower the burst or use a simpler rate", burst, r)
	}
	g.capacity = uint64(span)
	return g, nil
}

// Take asks for cost tokens of a bucket with a debt.
func (g *GCRA) Take(d Debt, cost int64) (Debt, Result) {
	d = min(d, Debt(g.capacity)) // a debt from before a change of the limit
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

// Give returns cost tokens to a bucket, never above full; what a bucket has
// forgotten in the meantime it cannot get back.
func (g *GCRA) Give(d Debt, cost int64) Debt {
	back, _ := mulDiv(uint64(max(cost, 0)), g.interval, 1)
	return d - min(d, Debt(back))
}

// Charge takes cost tokens whether they are there or not, up to one full
// burst of debt: what a caller owes for work that is done already.
func (g *GCRA) Charge(d Debt, cost int64) Debt {
	more, _ := mulDiv(uint64(max(cost, 0)), g.interval, 1)
	return min(d+min(Debt(more), Debt(g.capacity)), Debt(g.capacity))
}

// After is what is left of a debt when elapsed nanoseconds have passed.
func (g *GCRA) After(d Debt, elapsed int64) Debt {
	if elapsed <= 0 {
		return d
	}
	passed, _ := mulDiv(uint64(elapsed), g.unit, 1)
	return d - min(d, Debt(passed))
}

// Units is a moment in units, modulo 2^64: the differences of two moments are
// true as long as they are less than 2^63 units apart.
func (g *GCRA) Units(now int64) uint64 { return uint64(now) * g.unit }

// Unit is the number of units in a nanosecond.
func (g *GCRA) Unit() uint64 { return g.unit }

// Interval is the emission interval, rounded up to a nanosecond.
func (g *GCRA) Interval() time.Duration { return g.toDuration(g.interval) }

// Convert carries a debt over from another limit: what was spent stays spent,
// counted in tokens, so raising a limit never lowers what remains and lowering
// it mints nothing.
func (g *GCRA) Convert(from *GCRA, d Debt) Debt {
	if *from == *g || d == 0 {
		return d
	}
	converted := ceilMulDiv(uint64(d), g.interval, from.interval)
	return Debt(min(uint64(converted), g.capacity))
}

func (g *GCRA) remaining(d Debt) int64 { return int64((g.capacity - uint64(d)) / g.interval) }

func (g *GCRA) toDuration(units uint64) time.Duration {
	return time.Duration(ceilMulDiv(units, 1, g.unit))
}
