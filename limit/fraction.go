package limit

import (
	"math"
	"math/bits"
)

// notFaster is the fraction unit/interval for count/period that an interval of
// at most most can hold: the same in lowest terms if that fits, else the
// nearest below it. Both are 0 when even that is slower by a billionth or more.
//
// It walks down the Stern–Brocot tree in the strides of Euclid's algorithm:
// below and above enclose count/period ever closer, with growing denominators.
func notFaster(count, period, most uint64) (unit, interval uint64) {
	below, above := fraction{0, 1}, fraction{1, 0}
	belowGap, aboveGap := count, period // how far each is off, times its denominator and period
	if most < 1 {
		return 0, 0
	}
	for belowGap > 0 {
		stride := belowGap / aboveGap
		if above.den > 0 {
			stride = min(stride, (most-below.den)/above.den)
		}
		below = below.towards(above, stride)
		belowGap -= stride * aboveGap
		if belowGap == 0 || belowGap >= aboveGap {
			break
		}
		stride = min((aboveGap-1)/belowGap, (most-above.den)/below.den)
		above = above.towards(below, stride)
		aboveGap -= stride * belowGap
		if aboveGap > belowGap {
			break
		}
	}
	if allowed, _ := mulDiv(count, below.den, 1e9); belowGap > 0 && belowGap >= allowed {
		return 0, 0
	}
	return below.num, below.den
}

type fraction struct{ num, den uint64 }

func (f fraction) towards(o fraction, stride uint64) fraction {
	return fraction{f.num + stride*o.num, f.den + stride*o.den}
}

// product is a·b, saturating at the largest int64 so that it can be added to.
func product(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return lo
}

// mulDiv is floor(a·b/c) and whether that is exact, saturating at the largest
// int64 so that two of them can be added. c must be above 0.
func mulDiv(a, b, c uint64) (quotient uint64, exact bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxInt64, false
	}
	q, rem := bits.Div64(hi, lo, c)
	if q > math.MaxInt64 {
		return math.MaxInt64, false
	}
	return q, rem == 0
}

// ceilMulDiv is the smallest whole number not below a·b/c, saturating.
func ceilMulDiv(a, b, c uint64) uint64 {
	q, exact := mulDiv(a, b, c)
	if !exact && q < math.MaxInt64 {
		q++
	}
	return q
}
