package workershed

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// late is a worker whose processors are far behind, as each glance sees it.
func late(t *testing.T, c Config) (s *Stage, asked *int) {
	t.Helper()
	state := calmState()
	asked = new(int)
	state.glances.backlog = func() backlog {
		*asked++
		return backlog{delay: 80 * time.Millisecond, runnable: 1000}
	}
	s = newStage(t, c, state)
	s.Tick(state.clock.now())
	pass(glanceEvery)
	return s, asked
}

func (s *Stage) strain() float64 { return s.state.Snapshot().Strain }

// Who comes between two ticks sees that the processors are behind, and the next
// one of its class pays for it.
func TestRequestsSeeTheProcessorsFallBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, asked := late(t, Config{})
		for range 100 {
			s.Look(s.request(priority.Critical))
		}
		if *asked != 1 || math.Abs(s.strain()-0.35) > 1e-9 {
			t.Errorf("a hundred at once looked %d times, the strain is %v", *asked, s.strain())
		}
		for range 8 {
			pass(glanceEvery / 2)
			s.Look(s.request(priority.Critical))
		}
		if *asked != 5 || s.strain() < 1.7 {
			t.Errorf("in 100ms they looked %d times, the strain is %v", *asked, s.strain())
		}
		if d := s.Look(s.request(priority.Low)); d.Reason != pipeline.WorkerShed {
			t.Errorf("Low: %v", d.Verdict)
		}
		s.tickFor(time.Second)
		if got := s.strain(); got != 0 {
			t.Errorf("a second of calm ticks later the strain is %v", got)
		}
	})
}

func TestWhoDoesNotGlance(t *testing.T) {
	for name, look := range map[string]func(*Stage){
		"a trial": func(s *Stage) {
			r := s.request(priority.Critical)
			r.Trial = true
			s.Look(r)
		},
		"where nothing ticks": func(s *Stage) {
			pass(tickless)
			s.Look(s.request(priority.Critical))
		},
		"under a pin": func(s *Stage) {
			s.state.Pin(0)
			s.Look(s.request(priority.Critical))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := late(t, Config{})
				if look(s); s.strain() != 0 {
					t.Errorf("the strain is %v", s.strain())
				}
			})
		})
	}
	t.Run("a limit that does not adapt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, asked := late(t, Config{Adaptive: Fixed})
			if s.Look(s.request(priority.Critical)); *asked != 0 || s.strain() != 0 {
				t.Errorf("looked %d times, the strain is %v", *asked, s.strain())
			}
		})
	})
}
