package telemetry

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBoundsAreInStepsOfOneTwoAndFive(t *testing.T) {
	seconds := decisionLadder.seconds()
	if !slices.Equal(seconds[:5], []float64{1e-6, 2e-6, 5e-6, 1e-5, 2e-5}) || seconds[classics-1] != 10 {
		t.Errorf("decisions: %v", seconds)
	}
	if seconds = requestLadder.seconds(); seconds[0] != 1e-4 || seconds[classics-1] != 1000 {
		t.Errorf("requests: %v", seconds)
	}
}

// A duration is counted at the lowest bound that it does not exceed.
func TestASlotIsTheFirstThatFits(t *testing.T) {
	check := func(l *ladder, ns int64) bool {
		want, _ := slices.BinarySearch(l.bounds[:], ns) // what is equal to a bound belongs to it
		return l.slot(ns) == want
	}
	for _, l := range []*ladder{&decisionLadder, &requestLadder} {
		for _, b := range l.bounds {
			for _, ns := range []int64{b - 1, b, b + 1} {
				if !check(l, ns) {
					t.Errorf("%v is in slot %d", time.Duration(ns), l.slot(ns))
				}
			}
		}
		for _, ns := range []int64{0, 1, math.MaxInt64} {
			if !check(l, ns) {
				t.Errorf("%d ns are in slot %d", ns, l.slot(ns))
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		ns := rapid.Int64Range(0, math.MaxInt64).Draw(rt, "ns") >> rapid.IntRange(0, 62).Draw(rt, "shift")
		if !check(&decisionLadder, ns) || !check(&requestLadder, ns) {
			rt.Errorf("%d ns are in slots %d and %d", ns, decisionLadder.slot(ns), requestLadder.slot(ns))
		}
	})
}

func TestTheWalkToASlotIsShort(t *testing.T) {
	for _, l := range []*ladder{&decisionLadder, &requestLadder} {
		for part := range l.first {
			longest := int64(uint64(part%steps+steps+1)<<61>>(64-part/steps)) - 1 // of that part, where it does not overflow
			if part%steps == steps-1 {
				longest = int64(uint64(1)<<(part/steps)) - 1
			}
			if longest < 4 || part/steps > 62 {
				continue
			}
			if walk := l.slot(longest) - int(l.first[part]); walk > 3 {
				t.Errorf("%v is found in %d steps", time.Duration(longest), walk)
			}
		}
	}
}

// Both kinds of buckets count each duration once, where it belongs.
func TestBothKindsOfBucketsAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.SampledFrom([]*ladder{&decisionLadder, &requestLadder}).Draw(rt, "ladder")
		ns := rapid.Int64Range(0, math.MaxInt64).Draw(rt, "ns") >> rapid.IntRange(0, 62).Draw(rt, "shift")
		var h histogram
		h.observe(l, ns)
		var read reading
		read.add(&h)
		seconds := float64(ns) / 1e9
		counts, limits := read.classic(l), l.seconds()
		for i, n := range counts {
			fits := (i == len(limits) || seconds <= limits[i]) && (i == 0 || seconds > limits[i-1])
			if (n == 1) != fits || n > 1 || (int(l.bucket[l.slot(ns)]) == i) != fits {
				rt.Errorf("%v is %d times in classic bucket %d", time.Duration(ns), n, i)
			}
		}
		zero, buckets := read.native(l)
		if (zero == 1) != (seconds <= l.zero) || int(zero)+len(buckets) != 1 {
			rt.Errorf("%v: %d in the zero bucket, %v", time.Duration(ns), zero, buckets)
		}
		for index, n := range buckets {
			upper := root(int32(index))
			if n != 1 || seconds <= root(int32(index-1))-1e-9 || seconds > upper && ns <= l.bounds[bounds-1] {
				rt.Errorf("%v is in native bucket %d, up to %v", time.Duration(ns), index, upper)
			}
		}
	})
}

func TestDurationsBeforeZeroCountAsZero(t *testing.T) {
	var h histogram
	h.observe(&decisionLadder, -5)
	h.observe(&decisionLadder, int64(time.Hour))
	h.count()
	var sum reading
	sum.add(&h)
	if sum.slots[0] != 1 || sum.slots[beyond] != 1 || sum.slots[untimed] != 1 {
		t.Errorf("counted as %v", sum.slots)
	}
	if sum.timed() != 2 || sum.total() != 3 || sum.seconds() != 3600 {
		t.Errorf("%d timed of %d, in %v s", sum.timed(), sum.total(), sum.seconds())
	}
}
