package workershed

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/priority"
)

func TestRampTellsTheStories(t *testing.T) {
	r := ramps[Stripe]
	for name, story := range scenarios(t, "ramp") {
		t.Run(name, func(t *testing.T) {
			l := level{}
			for _, s := range story {
				for range s.lasts / time.Second {
					l = l.next(s.number(t, "use"), time.Second, &r)
				}
				if want := s.number(t, "level"); math.Abs(l.value-want) > 0.006 {
					t.Errorf("%s: the level is %.4f, want %.4f", s.at, l.value, want)
				}
			}
		})
	}
}

// The pace does not depend on how often the clock ticks.
func TestRampIsTheSameInLargerSteps(t *testing.T) {
	r := ramps[Stripe]
	fine, coarse := level{value: 0.5}, level{value: 0.5}
	for range 100 {
		fine = fine.next(0.95, 500*time.Millisecond, &r)
	}
	for range 25 {
		coarse = coarse.next(0.95, 2*time.Second, &r)
	}
	if math.Abs(fine.value-coarse.value) > 1e-9 {
		t.Errorf("50s in steps of 0.5s give %v, in steps of 2s %v", fine.value, coarse.value)
	}
}

// A process that stood still for an hour has seen nothing in that hour.
func TestRampDoesNotJumpAfterAPause(t *testing.T) {
	r := ramps[Stripe]
	if got := (level{value: 2}).next(0, time.Hour, &r); got.value < 1.9 {
		t.Errorf("an hour in one step lets everything in at once: level %v", got.value)
	}
	if got := (level{}).next(1, time.Hour, &r); got.value != 0 {
		t.Errorf("an hour in one step drops at once: level %v", got.value)
	}
	if got := (level{value: 1}).next(1, -time.Hour, &r); got.value != 1 {
		t.Errorf("a step backwards moves the level to %v", got.value)
	}
}

// Test traffic alone carries the load above the threshold. Dropping it makes
// the worker look well; it must not come back at once and make it ill again.
func TestRampSettlesOnLoadThatItCausesItself(t *testing.T) {
	for _, preset := range []Ramp{Stripe, Fast} {
		r := ramps[preset]
		l, turns, rising := level{}, 0, true
		for second := range 3600 {
			before := l.value
			use := min(1, 0.5+0.6*(1-shed(l.value, 0)))
			l = l.next(use, time.Second, &r)
			if l.value != before && l.value > before != rising {
				rising = !rising
				turns++
			}
			if second > 600 && (use > highUse+0.01 || use < lowUse-0.01) {
				t.Fatalf("%s: after %ds utilization is %.3f at level %.3f", preset, second, use, l.value)
			}
		}
		if turns > 1 {
			t.Errorf("%s: the level turned %d times in an hour", preset, turns)
		}
	}
}

func TestRampProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ramp{
			up: rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 2 * time.Minute}).Draw(t, "up"), hold: 5 * time.Second,
		}
		r.down = r.up * time.Duration(rapid.IntRange(1, 5).Draw(t, "slower"))
		l := level{value: rapid.Float64Range(0, maxLevel).Draw(t, "from")}
		use := rapid.OneOf(rapid.Float64Range(0, 1.5), rapid.Just(math.NaN())).Draw(t, "use")
		step := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "step"))
		next := l.next(use, step, &r)
		if !(next.value >= 0 && next.value <= maxLevel) {
			t.Fatalf("level %v is outside 0 … %d", next.value, maxLevel)
		}
		if moved := math.Abs(next.value - l.value); moved > float64(longestStep)/float64(r.up)+1e-9 {
			t.Fatalf("moved by %v in one step", moved)
		}
		if use > lowUse && next.value < l.value || !(use > highUse) && next.value > l.value {
			t.Fatalf("at utilization %v the level went from %v to %v", use, l.value, next.value)
		}
	})
}

// What is dropped grows from the least important class up, class by class,
// and never reaches Critical.
func TestShedTakesTheLeastImportantFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(-1, 5).Draw(t, "level")
		for class := 1; class < priority.Count; class++ {
			if shed(value, class) > 0 && shed(value, class-1) < 1 {
				t.Fatalf("at %v some of class %d goes before all of class %d has gone", value, class, class-1)
			}
		}
		if shed(value, priority.Critical.Index()) != 0 {
			t.Fatalf("at %v critical traffic is dropped", value)
		}
	})
}

// What is foreseen of the end of a level is what steps at the same utilization
// come to; where it does not sink, nothing is foreseen.
func TestTheEndOfALevelIsForeseen(t *testing.T) {
	r := &ramp{up: time.Minute, down: 2 * time.Minute}
	for _, use := range []float64{0, 0.35, 0.6} {
		l, took := level{value: 1.5}, time.Duration(0)
		foreseen := l.gone(use, r)
		for ; l.value > 0; took += time.Second {
			l = l.next(use, time.Second, r)
		}
		if off := took - foreseen; off < 0 || off > time.Second {
			t.Errorf("at %v it took %v, foreseen were %v", use, took, foreseen)
		}
	}
	for _, use := range []float64{lowUse, 0.75, 1} {
		if got := (level{value: 1}).gone(use, r); got != 0 {
			t.Errorf("at %v it does not sink, and %v is foreseen", use, got)
		}
	}
	if got := (level{}).gone(0, r); got != 0 {
		t.Errorf("no level is gone in %v", got)
	}
	if got := (level{value: 3}).gone(0.6999999, r); got != longestWait {
		t.Errorf("%v is foreseen", got)
	}
}

// The hint of the slow layer is when the cohort would be let in again, were
// the trouble over now: until then it is dropped, and from then on it is not.
func TestBackInIsWhenTheCohortReturns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ramps[Fast]
		class := rapid.IntRange(0, 2).Draw(t, "class")
		value := rapid.Float64Range(0, maxLevel).Draw(t, "level")
		cohort := priority.Cohort(rapid.IntRange(0, priority.Cohorts-1).Draw(t, "cohort"))
		in := backIn(value, class, cohort, r.down)
		if !cohort.Shed(shed(value, class)) {
			if in > time.Millisecond {
				t.Fatalf("level %v does not drop class %d cohort %d, yet keeps it out for %v", value, class, cohort, in)
			}
			return
		}
		at := func(d time.Duration) float64 { return value - float64(d)/float64(r.down) }
		if in < 0 || cohort.Shed(shed(at(in+time.Millisecond), class)) || in > time.Millisecond && !cohort.Shed(shed(at(in-time.Millisecond), class)) {
			t.Fatalf("level %v drops class %d cohort %d for %v", value, class, cohort, in)
		}
	})
}

func TestUsageForgetsAfterItsWindow(t *testing.T) {
	var u usage
	second := func(use, refused float64) (float64, float64) {
		if over := u.add(usedSecond{busy: 10 * use, room: 10, refused: refused, length: time.Second}); !over {
			t.Fatal("a second is not over after a second")
		}
		used, demand, step := u.over(8 * time.Second)
		if step != time.Second {
			t.Fatalf("the step is %v", step)
		}
		return used, demand
	}
	for range 20 {
		second(1, 5)
	}
	if use, demand := second(1, 5); use != 1 || demand != 1.5 {
		t.Errorf("use %v, demand %v; want 1, 1.5", use, demand)
	}
	for i := range 7 {
		if use, _ := second(0, 0); math.Abs(use-float64(7-i)/8) > 1e-9 {
			t.Errorf("after %ds of nothing the use is %v, want %v", i+1, use, float64(7-i)/8)
		}
	}
	if use, demand := second(0, 0); use != 0 || demand != 0 {
		t.Errorf("after 8s of nothing: use %v, demand %v", use, demand)
	}
}
