package limit

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func (r Rate) rat() *big.Rat { return big.NewRat(r.Count, int64(r.Period)) }

// versions are workers that count one bucket, each under its own version.
type versions struct {
	of     []GCRA
	bucket Bucket
	last   int // whose the bucket is
	rate   *big.Rat
	burst  int64
}

// take claims as a store does it: a debt that does not fit refuses, and stays.
func (v *versions) take(as int, now, cost int64) bool {
	g, own := &v.of[as], &v.of[v.last]
	v.bucket = Bucket{own.Owed(v.bucket, now), now}
	d, ok := g.Convert(own, v.bucket.Debt)
	if !ok {
		return false
	}
	v.last = as
	v.bucket.Debt, ok = g.Pass(d, cost)
	return ok
}

// drawVersions makes up two to four versions of a bucket, drained or not.
func drawVersions(t *rapid.T) *versions {
	v := &versions{rate: new(big.Rat)}
	for range rapid.IntRange(2, 4).Draw(t, "versions") {
		rate := Per(rapid.Int64Range(1, 50).Draw(t, "count"), time.Duration(rapid.Int64Range(1, 100).Draw(t, "period"))*time.Millisecond)
		burst := rapid.Int64Range(1, 200).Draw(t, "burst")
		g, err := NewGCRA(rate, burst)
		if err != nil {
			t.Fatal(err)
		}
		v.of, v.burst = append(v.of, g), max(v.burst, burst)
		if rate.rat().Cmp(v.rate) > 0 {
			v.rate = rate.rat()
		}
	}
	return v
}

// Workers that disagree about a limit admit in any window at most the largest
// burst and what comes at the fastest rate.
func TestGCRAVersionsBound(t *testing.T) {
	type pass struct{ at, cost int64 }
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t)
		var passed []pass
		now := int64(time.Hour)
		for range rapid.IntRange(1, 300).Draw(t, "claims") {
			now += rapid.SampledFrom([]int64{0, 0, 0, 1, int64(time.Millisecond), int64(50 * time.Millisecond), int64(time.Second)}).Draw(t, "pause")
			as := rapid.IntRange(0, len(v.of)-1).Draw(t, "as")
			cost := rapid.SampledFrom([]int64{1, 1, v.of[as].burst, v.of[as].burst/2 + 1, 0}).Draw(t, "cost")
			if !v.take(as, now, cost) {
				continue
			}
			passed = append(passed, pass{now, cost})
			total := int64(0)
			for i := len(passed) - 1; i >= 0; i-- {
				total += passed[i].cost
				bound := new(big.Rat).Mul(v.rate, big.NewRat(now-passed[i].at, 1))
				if bound.Add(bound, big.NewRat(v.burst, 1)); big.NewRat(total, 1).Cmp(bound) > 0 {
					t.Fatalf("%d passed in %dns, at most %s", total, now-passed[i].at, bound.FloatString(3))
				}
			}
		}
	})
}

// Whoever asked and however, an empty bucket is full for every version when the
// slowest one has refilled twice: once till it fits, once from then on.
func TestGCRAVersionsLockNobodyOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t)
		now, longest := int64(time.Hour), time.Duration(0)
		for i := range v.of {
			longest = max(longest, v.of[i].toDuration(v.of[i].capacity))
		}
		for range rapid.IntRange(1, 50).Draw(t, "claims") {
			now += rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause")
			v.take(rapid.IntRange(0, len(v.of)-1).Draw(t, "as"), now, 1)
		}
		as := rapid.IntRange(0, len(v.of)-1).Draw(t, "as")
		fits := now + int64(v.of[v.last].toDuration(uint64(v.bucket.Debt)))
		v.take(as, fits, 0)
		if !v.take(as, fits, v.of[as].burst) || time.Duration(fits-now) > 2*longest {
			t.Fatalf("not full after %s, a full bucket takes %s", time.Duration(fits-now), longest)
		}
	})
}

// Seven of ten are spent; half the limit asks, and then the whole one again.
func TestGCRALoweredAndRaised(t *testing.T) {
	ten, five := newFlow(t, Per(10, time.Hour), 10), newFlow(t, Per(5, time.Hour), 5)
	v := versions{of: []GCRA{ten.g, five.g}}
	if !v.take(0, 0, 7) || v.take(1, 0, 0) || !v.take(0, 0, 3) || v.take(0, 0, 1) {
		t.Error("lowering and raising again does not leave three")
	}
	held := ten.g.Holding(5)
	if _, r := held.Take(held.Owed(v.bucket, 0), 1); r.OK || r.RetryAfter != 36*time.Minute || r.Remaining != 0 {
		t.Errorf("ten of ten spent, of which five may be: %+v, want refused for 36m", r)
	}
}

// What is owed beyond a bucket is owed whatever the clock does; an hour back is
// not waited for.
func TestGCRAOwedBeyondABucket(t *testing.T) {
	g := newFlow(t, Per(1, time.Second), 5).g
	now := int64(48 * time.Hour)
	for _, c := range []struct{ back, want time.Duration }{
		{0, 30 * time.Second}, {time.Millisecond, 30*time.Second + time.Millisecond}, {4 * time.Second, 34 * time.Second}, {time.Hour, 30 * time.Second}, {-time.Second, 29 * time.Second},
	} {
		owed := g.Owed(Bucket{Debt: 30 * g.worth(1), At: now}, now-int64(c.back))
		if got := g.toDuration(uint64(owed)); got != c.want {
			t.Errorf("30s owed, %s earlier: %s, want %s", c.back, got, c.want)
		}
	}
}
