package limit

import (
	"math"
	"math/big"
	"time"
)

// bucketModel is a token bucket as a textbook has it: a level of tokens, exact
// as a fraction, that rises with time up to the burst.
type bucketModel struct {
	rate  *big.Rat // tokens in a nanosecond
	burst *big.Rat
	level *big.Rat
	at    int64
}

func newBucketModel(r Rate, burst int64) *bucketModel {
	return &bucketModel{
		rate:  big.NewRat(r.Count, int64(r.Period)),
		burst: rat(burst), level: rat(burst),
	}
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func (m *bucketModel) advance(now int64) {
	passed := new(big.Rat).SetInt(new(big.Int).Sub(big.NewInt(now), big.NewInt(m.at)))
	m.level.Add(m.level, passed.Mul(passed, m.rate))
	m.level = least(m.level, m.burst)
	m.at = now
}

func (m *bucketModel) take(cost int64) Result {
	if cost < 0 || rat(cost).Cmp(m.burst) > 0 {
		return m.figures(Result{RetryAfter: Never})
	}
	if missing := new(big.Rat).Sub(rat(cost), m.level); missing.Sign() > 0 {
		return m.figures(Result{RetryAfter: m.timeFor(missing)})
	}
	m.level.Sub(m.level, rat(cost))
	return m.figures(Result{OK: true})
}

func (m *bucketModel) figures(r Result) Result {
	r.Remaining = floor(m.level)
	r.ResetAfter = m.timeFor(new(big.Rat).Sub(m.burst, m.level))
	return r
}

// timeFor is how long the bucket takes for some tokens, rounded up.
func (m *bucketModel) timeFor(tokens *big.Rat) time.Duration {
	ns := new(big.Rat).Quo(tokens, m.rate)
	return time.Duration(-floor(ns.Neg(ns)))
}

func least(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return new(big.Rat).Set(b)
}

// floor is the largest whole number not above r, saturating.
func floor(r *big.Rat) int64 {
	q := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: floors, as the denominator is positive
	if !q.IsInt64() {
		if q.Sign() < 0 {
			return -math.MaxInt64
		}
		return math.MaxInt64
	}
	return q.Int64()
}
