package workershed

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// The promises, at several depths of overload: before, the step up, the step
// down, each with the store beside or a millisecond away.
func TestOverload(t *testing.T) {
	for _, c := range []struct {
		name     string
		multiple float64
		store    time.Duration
		goodput  float64
	}{
		{"twice the capacity", 2, 0, 0.93},
		{"three times", 3, 0, 0.93},
		{"three times, with a store 1ms away", 3, time.Millisecond, 0.93},
		{"eight times", 8, 0, 0.90},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation(phase{0.6, 2 * time.Second}, phase{c.multiple, 3 * time.Second}, phase{0.6, 4 * time.Second})
				s.store = c.store
				s.run(t)
				s.mustKeepThePromises(t, c.goodput)
			})
		})
	}
}

// mustKeepThePromises checks a story of 2s below the capacity, 3s above, and
// 4s below.
func (s *simulation) mustKeepThePromises(t *testing.T, goodput float64) {
	t.Helper()
	if n := s.refused(0, 2) + s.refused(7, 9); n != 0 {
		t.Errorf("%d refused at 0.6 times the capacity", n)
	}
	all := priority.All[:]
	for second := range 9 {
		// Where critical work alone is more than the worker can do, what it can do is critical.
		if got := s.share(second, second+1, priority.Critical); got < min(0.995, 0.9/s.criticalLoad(second)) {
			t.Errorf("second %d: %.2f %% of critical traffic", second, 100*got)
		}
	}
	if got := s.share(7, 9, all...); got < 0.99 {
		t.Errorf("2s after the step down %.2f %% of all traffic gets through", 100*got)
	}
	if got := s.goodput(2, 5); got < goodput {
		t.Errorf("goodput in overload is %.1f %% of the capacity", 100*got)
	}
	if got := s.late(0, 9); got > int(0.01*s.capacity()*3) {
		t.Errorf("%d late answers", got)
	}
	if t.Failed() {
		t.Logf("\n%s%+v", s, s.stage.state.Snapshot())
	}
}

// criticalLoad is how much of the capacity critical work asks for in a second.
func (s *simulation) criticalLoad(second int) float64 {
	return max(0.1, float64(s.seconds[second].class[priority.Critical.Index()].offered)/s.capacity())
}

// One caller sends three times the capacity beside a thousand that would use
// half of it. No limit by caller is there to stop it; what protects the others
// is that its places in the queue are bounded.
func TestAbuserBesideGoodCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(phase{0.5, 5 * time.Second})
		s.mix = [priority.Count]float64{0, 1, 0, 0}
		s.config.MaxInFlight = 60 // Normal may use 36 of them
		s.abuser = 3
		s.run(t)
		if got := s.share(0, 5, priority.Normal); got < 0.99 {
			t.Errorf("good callers get %.2f %%\n%s", 100*got, s)
		}
		if got := s.goodput(0, 5); got < 0.93 {
			t.Errorf("goodput is %.1f %%\n%s", 100*got, s)
		}
	})
}

// A dependency becomes ten times slower for a while, and clients that get no
// good answer try twice again at once. When it recovers, so does the worker,
// by itself, though the retries go on.
func TestSlowDependencyAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(phase{0.6, 20 * time.Second})
		s.retries = 2
		s.service = func(at time.Duration) time.Duration {
			if at > 4*time.Second && at < 12*time.Second {
				return 100 * time.Millisecond
			}
			return 10 * time.Millisecond
		}
		s.run(t)
		if got := s.share(17, 20, priority.All[:]...); got < 0.95 {
			t.Errorf("5s after the recovery %.1f %% of the traffic gets through\n%s%+v", 100*got, s, s.stage.state.Snapshot())
		}
	})
}

// Handlers that only burn CPU, in one piece: they run to their end as soon as
// they are admitted, so hardly anything is ever in flight, and what waits does
// so in the scheduler, before anybody can decide on it.
func TestOverloadOfTheProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(phase{0.6, 3 * time.Second}, phase{3, 6 * time.Second}, phase{0.6, 5 * time.Second})
		s.cpu, s.slots = true, 2
		s.service = func(time.Duration) time.Duration { return 2 * time.Millisecond }
		s.run(t)
		if n := s.refused(0, 3) + s.refused(11, 14); n != 0 {
			t.Errorf("%d refused at 0.6 times the capacity", n)
		}
		for second := range 14 {
			if got := s.share(second, second+1, priority.Critical); got < 0.97 {
				t.Errorf("second %d: %.2f %% of critical traffic", second, 100*got)
			}
		}
		if got := s.goodput(3, 9); got < 0.85 {
			t.Errorf("goodput in overload is %.1f %% of the capacity", 100*got)
		}
		if got := s.late(0, 14); got > 0 {
			t.Errorf("%d late answers", got)
		}
		if t.Failed() {
			t.Logf("\n%s\n%s", s, tell(s.stage.state))
		}
	})
}

// Load that rises and falls every few seconds costs critical traffic nothing,
// and the slow layer does not answer to it.
func TestFlappingLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var phases []phase
		for range 2 {
			phases = append(phases, phase{0.6, 10 * time.Second}, phase{1.3, 10 * time.Second})
		}
		s := newSimulation(phases...)
		s.run(t)
		for second := range s.seconds[:40] {
			if got := s.share(second, second+1, priority.Critical); got < 0.995 {
				t.Errorf("second %d: %.2f %% of critical traffic", second, 100*got)
			}
			if second/10%2 == 0 && second%10 > 1 && s.refused(second, second+1) > 0 {
				t.Errorf("second %d: %d refused at 0.6 times the capacity", second, s.refused(second, second+1))
			}
		}
		if n := len(s.stage.state.Snapshot().Changes); n > 2 {
			t.Errorf("%d changes in 40s:\n%s", n, tell(s.stage.state))
		}
	})
}

// Minutes of overload by traffic that matters little, on a small worker: the
// slow layer takes over from the queue, takes no more than it has to, and lets
// everybody in again.
func TestLongOverloadIsAnsweredByTheSlowLayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(phase{0.6, 60 * time.Second}, phase{2.5, 240 * time.Second}, phase{0.3, 240 * time.Second})
		s.slots, s.service = 5, func(time.Duration) time.Duration { return 100 * time.Millisecond }
		s.config = Config{MaxInFlight: 5, ClassShare: [priority.Count]float64{0.9, 0.9, 0.9, 1}, MaxWait: 20 * time.Millisecond}
		s.mix = [priority.Count]float64{0.7, 0.1, 0.1, 0.1}
		s.run(t)
		if s.seconds[60+27].level != 0 {
			t.Errorf("level %v within 28s of the overload", s.seconds[60+27].level)
		}
		at := s.seconds[290].level
		if at < 0.2 || at > 1.2 {
			t.Errorf("after four minutes the level is %v", at)
		}
		if got := s.seconds[len(s.seconds)-1].level; got != 0 {
			t.Errorf("four minutes after it is over the level is %v", got)
		}
		turns := 0
		for i := 2; i < len(s.seconds); i++ {
			if (s.seconds[i].level-s.seconds[i-1].level)*(s.seconds[i-1].level-s.seconds[i-2].level) < 0 {
				turns++
			}
		}
		if turns > 8 {
			t.Errorf("the level turned %d times in nine minutes", turns)
		}
		if t.Failed() {
			t.Logf("\n%s\n%s", s, tell(s.stage.state))
		}
	})
}
