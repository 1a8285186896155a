package overload

import (
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
)

// Experiment is a service and what happens to it.
type Experiment struct {
	Name    string // E1-3x and the like: a word of the command line and of files
	Title   string
	Service func() *Service
	Phases  []load.Phase // multiples of the service's capacity
	Mix     load.Mix     // of classes; zero: 20 critical, 20 high, 40 normal, 20 low
	Retries int          // how often a caller asks again at once, when refused or not answered in time
	Slow    map[int]int  // by phase: how many times longer a call takes
	Judged  int          // the phase whose figures count
	Streams map[int]int  // by phase: how many streams are opened, which stay for the phase
	Apart   bool         // the service has a process of its own
	Quota   bool         // and that has one core, by a control group
}

// The phases of a step.
const (
	before = iota
	height
	after
)

// callers is how many there are.
const callers = 100

// patience is how long a caller waits for one attempt.
const patience = 250 * time.Millisecond

// calm is the load before and after, as a multiple of the capacity.
const calm = 0.6

// Experiments are all of them. Each is short: with five repeats of two
// settings of ten contestants a second more costs a minute and a half.
func Experiments() []Experiment {
	return []Experiment{
		step("E1-2x", "waits, 2x", NewIO, 2), step("E1-3x", "waits, 3x", NewIO, 3),
		step("E1-4x", "waits, 4x", NewIO, 4), step("E1-8x", "waits, 8x", NewIO, 8),
		step("E1-mixed", "waits, calls of 4 ms and of 34 ms, 3x", NewMixed, 3), streaming(),
		computes3x("E2-pieces", "computes in pieces, 3x", NewPieces), computes3x("E2-one", "computes in one piece, 3x", NewOnePiece),
		underQuota(),
		dependency("E3", "a dependency ten times slower for a while", 0),
		dependency("E3-retries", "the same, callers ask again twice at once", 2),
		flapping(), steady(), trap(),
	}
}

// FindExperiment is the experiment of a name.
func FindExperiment(name string) (Experiment, bool) {
	list := Experiments()
	i := slices.IndexFunc(list, func(e Experiment) bool { return e.Name == name })
	if i < 0 {
		return Experiment{}, false
	}
	return list[i], true
}

func step(name, title string, service func() *Service, multiple float64) Experiment {
	return Experiment{Name: name, Title: title, Service: service, Judged: height, Phases: []load.Phase{
		{Name: "before", Multiple: calm, Duration: 4 * time.Second},
		{Name: "height", Multiple: multiple, Duration: 10 * time.Second},
		{Name: "after", Multiple: calm, Duration: 6 * time.Second},
	}}
}

// streaming is a load that can be borne, while hundreds of long streams are
// open that ask nothing of the service.
func streaming() Experiment {
	e := step("E1-streams", "waits, 0.6x, beside 300 open streams", NewIO, calm)
	e.Streams = map[int]int{height: 300}
	return e
}

// computes3x is a step to three times what a process of its own can do.
func computes3x(name, title string, service func() *Service) Experiment {
	e := step(name, title, service, 3)
	e.Apart = true
	return e
}

// underQuota is the same with a quota of one core, where all that a process
// sees of being throttled is that time passes.
func underQuota() Experiment {
	e := computes3x("E2-quota", "computes in pieces, with a quota of one core, 3x", NewPieces)
	e.Quota = true
	return e
}

// dependency is a service that becomes ten times slower under a load that it
// could bear, and then recovers: what is judged is what comes after.
func dependency(name, title string, retries int) Experiment {
	const multiple = 0.8
	return Experiment{Name: name, Title: title, Service: NewIO, Judged: after, Retries: retries, Slow: map[int]int{height: 10}, Phases: []load.Phase{
		{Name: "before", Multiple: multiple, Duration: 4 * time.Second},
		{Name: "slow", Multiple: multiple, Duration: 10 * time.Second},
		{Name: "recovered", Multiple: multiple, Duration: 10 * time.Second},
	}}
}

// flapping is a square wave of 20 s around the capacity.
func flapping() Experiment {
	e := Experiment{Name: "E5-flapping", Title: "flapping, 0.6x and 1.3x", Service: NewIO, Judged: -1}
	for range 2 {
		e.Phases = append(e.Phases,
			load.Phase{Name: "low", Multiple: calm, Duration: 10 * time.Second},
			load.Phase{Name: "high", Multiple: 1.3, Duration: 10 * time.Second})
	}
	return e
}

// steady is a little more than the capacity.
func steady() Experiment {
	return Experiment{Name: "E5-steady", Title: "steady, 1.05x", Service: NewIO, Judged: -1, Phases: []load.Phase{
		{Name: "steady", Multiple: 1.05, Duration: 20 * time.Second},
	}}
}

// trap is the load that the lowest class alone drives: without it there is
// room, so that a shedder that drops it sees room, lets it in, and drops it.
func trap() Experiment {
	return Experiment{
		Name: "E5-trap", Title: "the lowest class alone is too much, 1.4x", Service: NewIO, Judged: -1,
		Mix:    load.Mix{0.9, 0.2, 0.2, 0.1}, // least important first
		Phases: []load.Phase{{Name: "trap", Multiple: 1.4, Duration: 30 * time.Second}},
	}
}
