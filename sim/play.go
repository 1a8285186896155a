package sim

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Play plays a scenario in virtual time. The same seed gives the same report.
// The error says what is wrong with the scenario's settings.
func Play(s *Scenario, seed uint64) (*Report, error) {
	if err := s.setup.validate(); err != nil {
		return nil, err
	}
	var report *Report
	var err error
	inBubble(func() {
		var w *world
		if w, err = newWorld(s, seed); err != nil {
			return
		}
		w.play()
		report = w.report()
	})
	return report, err
}

// inBubble runs f in virtual time. A bubble belongs to a test by its
// interface; any test does, so that one is made where there is none.
func inBubble(f func()) {
	var done sync.WaitGroup
	done.Go(func() { synctest.Test(new(testing.T), func(*testing.T) { f() }) })
	done.Wait()
}

// Report is what came of a scenario.
type Report struct {
	Scenario   string         `json:"scenario"`
	Seed       uint64         `json:"seed"`
	Digest     uint64         `json:"digest"`   // of all that happened: equal for equal runs
	Capacity   float64        `json:"capacity"` // of the fleet, in requests a second
	Seconds    []Second       `json:"seconds"`
	Violations []Violation    `json:"violations"`
	Broken     map[string]int `json:"broken"` // how often each invariant was, all told
	Expected   []Verdict      `json:"expected"`
	Length     time.Duration  `json:"length_ns"`
}

// Held reports whether all invariants held and all expectations were met.
func (r *Report) Held() bool {
	for _, v := range r.Expected {
		if !v.Met {
			return false
		}
	}
	return len(r.Violations) == 0
}

func (w *world) report() *Report {
	s := w.scenario
	r := &Report{
		Scenario: s.Name, Seed: w.seed, Digest: w.journal.digest, Capacity: s.setup.capacity(), Length: s.setup.length,
		Seconds: w.record.seconds, Violations: w.journal.violations, Broken: w.journal.broken,
	}
	for i := range s.expects {
		r.Expected = append(r.Expected, s.expects[i].judge(r))
	}
	return r
}
