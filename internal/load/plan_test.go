package load

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

func steps(base float64) Plan {
	return Plan{Base: base, Seed: 7, Mix: DefaultMix, Deadline: DefaultDeadline, Phases: []Phase{
		{Name: "before", Multiple: 0.5, Duration: 10 * time.Second},
		{Name: "silence", Multiple: 0, Duration: time.Second},
		{Name: "over", Multiple: 2, Duration: 10500 * time.Millisecond},
	}}
}

func TestEqualPlansOfferTheSameArrivals(t *testing.T) {
	one, two := steps(100), steps(100)
	if !slices.Equal(slices.Collect(one.Arrivals()), slices.Collect(two.Arrivals())) {
		t.Error("two runs of one seed differ")
	}
	two.Seed++
	if slices.Equal(slices.Collect(one.Arrivals()), slices.Collect(two.Arrivals())) {
		t.Error("two seeds offer the same")
	}
}

// Counts and gaps of a Poisson process: each is inside four standard
// deviations, and a seed is fixed, so this fails only when the code changes.
func TestArrivalsArePoissonAtEachPhasesRate(t *testing.T) {
	p := steps(1000)
	counts := make([]float64, len(p.Phases))
	var gaps, squares, previous float64
	for a := range p.Arrivals() {
		if a.Phase == 2 && counts[2] > 0 {
			gap := a.At.Seconds() - previous
			gaps, squares = gaps+gap, squares+gap*gap
		}
		counts[a.Phase]++
		previous = a.At.Seconds()
	}
	for i, want := range []float64{5000, 0, 21000} {
		if math.Abs(counts[i]-want) > 4*math.Sqrt(want) {
			t.Errorf("phase %d offered %v arrivals, want about %v", i, counts[i], want)
		}
	}
	mean := gaps / (counts[2] - 1)
	deviation := math.Sqrt(max(squares/(counts[2]-1)-mean*mean, 0))
	if ratio := deviation / mean; math.Abs(ratio-1) > 0.05 {
		t.Errorf("gaps deviate by %.3f of their mean, exponential ones by 1", ratio)
	}
}

func TestArrivalsStayInTheirPhaseAndInOrder(t *testing.T) {
	p := steps(200)
	ends := []time.Duration{10 * time.Second, 11 * time.Second, 21500 * time.Millisecond}
	previous, number := time.Duration(0), 0
	for a := range p.Arrivals() {
		if a.At < previous || a.Number != number {
			t.Fatalf("arrival %d at %v follows %v, want number %d", a.Number, a.At, previous, number)
		}
		if a.At >= ends[a.Phase] || a.Phase > 0 && a.At < ends[a.Phase-1] {
			t.Fatalf("arrival at %v is in phase %d", a.At, a.Phase)
		}
		previous, number = a.At, number+1
	}
}

func TestTheMixIsKept(t *testing.T) {
	p := Plan{Base: 10_000, Mix: Mix{1, 2, 3, 4}, Phases: []Phase{{Multiple: 1, Duration: 2 * time.Second}}}
	var counts [priority.Count]float64
	n := 0.0
	for a := range p.Arrivals() {
		counts[a.Class.Index()]++
		n++
	}
	for i, want := range p.Mix {
		if share := counts[i] / n * 10; math.Abs(share-want) > 0.15 {
			t.Errorf("share of %v is %.2f, want %v", priority.FromIndex(i), share, want)
		}
	}
}

func TestNewNamesEveryFaultOfAPlan(t *testing.T) {
	_, err := New(Config{Outstanding: -1, Plan: Plan{Base: -1, Deadline: -1, Mix: Mix{0, -1}, Phases: []Phase{{Multiple: -2}}}})
	if err == nil {
		t.Fatal("a plan without sense was taken")
	}
	for _, part := range []string{"base", "deadline", "phases[0].multiple", "phases[0].duration", "mix of normal", "at least one class", "Do is needed", "outstanding"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q:\n%v", part, err)
		}
	}
}
