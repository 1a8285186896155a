package priority_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/priority"
)

var night = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC).UnixNano()

// mixed is a well-mixed hash of a small number (splitmix64).
func mixed(i int) uint64 {
	x := uint64(i) * 0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func TestCohortsShareTheCallersEvenly(t *testing.T) {
	const callers = 128 * 1000
	var count [priority.Cohorts]int
	for i := range callers {
		count[priority.CohortOf(mixed(i), night)]++
	}
	chi := 0.0
	for _, n := range count {
		d := float64(n) - callers/priority.Cohorts
		chi += d * d / (callers / priority.Cohorts)
	}
	// 127 degrees of freedom: mean 127, deviation 16.
	if chi > 127+6*16 {
		t.Errorf("χ² is %.0f: %v", chi, count)
	}
}

// A caller keeps its cohort for an hour and then has another one; callers
// change at all moments of the hour, not together.
func TestCohortsChangeOnceAnHour(t *testing.T) {
	const callers = 2000
	var changesInMinute [60]int
	for i := range callers {
		caller := mixed(i)
		changes := 0
		for minute := range 60 {
			at := night + int64(minute)*int64(time.Minute)
			if priority.CohortOf(caller, at) != priority.CohortOf(caller, at+int64(time.Minute)) {
				changes++
				changesInMinute[minute]++
			}
		}
		if changes > 1 {
			t.Fatalf("caller %d changes %d times an hour", i, changes)
		}
	}
	all := 0
	for _, n := range changesInMinute {
		all += n
		if n > callers/60*3 {
			t.Errorf("%d of %d change in one minute", n, callers)
		}
	}
	if all < callers*9/10 {
		t.Errorf("only %d of %d change within the hour", all, callers)
	}
}

// A shed of a share takes that share of the callers, and a larger one only
// adds to them.
func TestShedsTakeTheirShareAndGrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := priority.Cohort(rapid.IntRange(0, priority.Cohorts-1).Draw(rt, "cohort"))
		less := rapid.Float64Range(0, 1).Draw(rt, "less")
		more := rapid.Float64Range(less, 1).Draw(rt, "more")
		if c.Shed(less) && !c.Shed(more) {
			rt.Fatalf("cohort %d is shed at %v and not at %v", c, less, more)
		}
		if c.Shed(0) || !c.Shed(1) || c.Shed(math.NaN()) {
			rt.Fatalf("cohort %d: at nothing %t, at all %t, at NaN %t", c, c.Shed(0), c.Shed(1), c.Shed(math.NaN()))
		}
	})
	shed := 0
	for c := range priority.Cohort(priority.Cohorts) {
		if c.Shed(0.25) {
			shed++
		}
	}
	if shed != priority.Cohorts/4 {
		t.Errorf("a quarter is %d of %d cohorts", shed, priority.Cohorts)
	}
}

// A clock at its ends does not bring a cohort out of range.
func TestCohortsAtAnyMoment(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if c := priority.CohortOf(rapid.Uint64().Draw(rt, "caller"), rapid.Int64().Draw(rt, "now")); c >= priority.Cohorts {
			rt.Fatalf("cohort %d", c)
		}
	})
}
