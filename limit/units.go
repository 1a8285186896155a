package limit

import (
	"math/bits"
	"time"
)

// Units are the whole numbers that a token bucket is counted in by who has less
// than a word for them: a tick of time has unit of them, a token takes interval,
// and a full bucket, burst·interval, is at most most. The rate is exact where
// that fits, else the nearest slower one, by less than a billionth. It fails
// where that does not exist. Burst must be 1 or more, and the rate valid and
// above 0.
func Units(r Rate, tick time.Duration, burst int64, most uint64) (unit, interval uint64, ok bool) {
	over, count := bits.Mul64(uint64(r.Count), uint64(tick))
	if over > 0 {
		return 0, 0, false
	}
	unit, interval = notFaster(count, uint64(r.Period), most/uint64(burst))
	return unit, interval, unit > 0
}
