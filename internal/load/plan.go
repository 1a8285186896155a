package load

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Plan says what is offered, when, and in which mix. Two runs of equal plans
// offer the same arrivals at the same planned moments.
type Plan struct {
	// Base is the rate that phases are multiples of, in arrivals per second:
	// the capacity of what is loaded, as a rule. Above 0.
	Base float64
	// Phases follow each other without a gap. At least one.
	Phases []Phase
	// Mix is the share of each class. The zero value is DefaultMix.
	Mix Mix
	// Deadline is how long after its planned moment an answer is still good.
	// Above 0; default 250ms.
	Deadline time.Duration
	// Seed selects the arrivals. Any value.
	Seed uint64
}

// Phase is a stretch of constant rate.
type Phase struct {
	Name     string
	Multiple float64       // of the plan's base rate; 0 offers nothing
	Duration time.Duration // above 0
}

// Mix is the share of each class, by priority.Class.Index. Shares are relative:
// they need not sum to one.
type Mix [priority.Count]float64

// DefaultMix is 20 critical, 20 high, 40 normal, 20 low.
var DefaultMix = Mix{20, 40, 20, 20}

// DefaultDeadline is how long an answer is good for.
const DefaultDeadline = 250 * time.Millisecond

// Arrival is one request to be sent.
type Arrival struct {
	Number int           // 0, 1, 2, … in order of their planned moments
	Phase  int           // index in the plan
	At     time.Duration // planned moment, from the start of the run
	Class  priority.Class
	Pick   uint64    // uniform: for the choice of a caller, a route, a body
	Due    time.Time // when an answer stops being good; set by Run
}

// Length is how long the plan runs.
func (p *Plan) Length() (sum time.Duration) {
	for _, phase := range p.Phases {
		sum += phase.Duration
	}
	return sum
}

// Rate is what a phase offers, in arrivals per second.
func (p *Plan) Rate(phase int) float64 { return p.Base * p.Phases[phase].Multiple }

// Arrivals yields the plan's arrivals in the order of their planned moments.
func (p *Plan) Arrivals() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		random := rand.New(rand.NewPCG(p.Seed, 0))
		next := Arrival{}
		from := time.Duration(0)
		for i, phase := range p.Phases {
			next.Phase, next.At = i, from
			from += phase.Duration
			//nolint:staticcheck // the rate is that of the phase; the arrivals move
			for rate := p.Rate(i); rate > 0; next.Number++ {
				next.At += time.Duration(random.ExpFloat64() / rate * float64(time.Second))
				if next.At >= from {
					break
				}
				next.Class, next.Pick = p.Mix.class(random.Float64()), random.Uint64()
				if !yield(next) {
					return
				}
			}
		}
	}
}

// class maps a uniform number of [0, 1) to a class.
func (m *Mix) class(u float64) priority.Class {
	u *= m.sum()
	for i, share := range m {
		if u < share {
			return priority.FromIndex(i)
		}
		u -= share
	}
	return priority.Critical
}

func (m *Mix) sum() (sum float64) {
	for _, share := range m {
		sum += share
	}
	return sum
}

// prepared fills in defaults and names every fault.
func (p Plan) prepared() (Plan, error) {
	if p.Mix == (Mix{}) {
		p.Mix = DefaultMix
	}
	if p.Deadline == 0 {
		p.Deadline = DefaultDeadline
	}
	var errs []error
	fault := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("load: "+format, args...))
		}
	}
	fault(p.Base > 0, "base must be above 0, got %v", p.Base)
	fault(p.Deadline > 0, "deadline must be above 0, got %v", p.Deadline)
	fault(len(p.Phases) > 0, "phases must name at least one")
	for i, phase := range p.Phases {
		fault(phase.Multiple >= 0, "phases[%d].multiple must be at least 0, got %v", i, phase.Multiple)
		fault(phase.Duration > 0, "phases[%d].duration must be above 0, got %v", i, phase.Duration)
	}
	for i, share := range p.Mix {
		fault(share >= 0, "mix of %v must be at least 0, got %v", priority.FromIndex(i), share)
	}
	fault(p.Mix.sum() > 0, "mix must name at least one class")
	return p, errors.Join(errs...)
}
