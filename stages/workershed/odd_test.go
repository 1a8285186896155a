package workershed

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Whoever is not known is not taken for the caller that falls on the same
// counters.
func TestAnUnknownCallerHasNoPlaces(t *testing.T) {
	p := newPlaces()
	for row := range p.row {
		for i := range p.row[row] {
			p.row[row][i].Store(9)
		}
	}
	if n := p.used(store.Key{}); n != 0 {
		t.Errorf("%d places", n)
	}
}

// Where nobody may wait and nothing adapts, shadow refuses just what enforcing
// would: what it refuses takes no slot, although it runs.
func TestShadowWithoutAQueueIsExact(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := Config{MaxInFlight: 1 + rng.IntN(12), QueuePerClass: NoQueue, Adaptive: Fixed}
		enforced, shadow := newStage(t, c, NewState()), newStage(t, c, NewState())
		var held [][2]pipeline.Permit
		for range 2000 {
			if n := len(held); n > 0 && rng.IntN(2) == 0 {
				at := rng.IntN(n)
				enforced.Release(nil, held[at][0], pipeline.Result{})
				shadow.Release(nil, held[at][1], pipeline.Result{})
				held = slices.Delete(held, at, at+1)
				continue
			}
			r, q := enforced.request(priority.FromIndex(rng.IntN(4))), new(pipeline.Request)
			q.Class, q.Now, q.NoWait = r.Class, r.Now, true
			if a, b := enforced.Look(r), shadow.Look(q); a != b {
				t.Fatalf("seed %d: look says %+v, and in shadow %+v", seed, a, b)
			}
			a, b := enforced.Take(t.Context(), r), shadow.Take(t.Context(), q)
			if a.Verdict != b.Verdict || a.Reason != b.Reason {
				t.Fatalf("seed %d: take says %+v, and in shadow %+v", seed, a, b)
			}
			if a.Verdict == pipeline.Admit {
				held = append(held, [2]pipeline.Permit{a.Permit, b.Permit})
			}
		}
	}
}

// Everything that can move does while requests wait: the maximum, one slot and
// the most there may be included, the number of processors, the queue, the pin,
// clients that leave, streams, a clock that is wrong. After each tick nobody
// waits who would find room, and at the end nothing is left.
func TestWhateverMovesNobodyIsForgotten(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			state := calmState()
			var views []*Stage
			for _, c := range []Config{
				{MaxInFlight: 1}, {MaxInFlight: 2, MaxWait: 5 * time.Second}, {MaxInFlight: 20}, {MaxInFlight: mostInFlight},
				{MaxInFlight: 8, QueuePerClass: NoQueue}, {MaxInFlight: 5, Adaptive: Fixed, QueuePerClass: 1, MaxStreams: 1},
			} {
				views = append(views, newStage(t, c, state))
			}
			c := &crowdOf{stage: views[2]}
			for range 3000 {
				c.move(t, rng, views)
				c.collect()
			}
			c.end(t)
		})
	}
}

// crowdOf is requests that run and requests that wait.
type crowdOf struct {
	stage *Stage // of who comes now
	held  []pipeline.Permit
	under []*comer
}

// comer is a request that has not had its answer.
type comer struct {
	visit *visit
	leave context.CancelFunc
}

func (c *crowdOf) move(t *testing.T, rng *rand.Rand, views []*Stage) {
	t.Helper()
	s := c.stage
	switch what := rng.IntN(20); {
	case what < 8 && len(c.held)+len(c.under) < 200:
		r := s.request(priority.FromIndex(rng.IntN(4)))
		r.Caller = caller(string(rune('a' + rng.IntN(40))))
		if rng.IntN(4) == 0 {
			r.Deadline = r.Now + rng.Int64N(int64(time.Second)) - int64(100*time.Millisecond)
		}
		if s.Look(r).Verdict != pipeline.Admit {
			return
		}
		ctx, leave := context.WithCancel(t.Context())
		c.under = append(c.under, &comer{s.start(ctx, r), leave})
	case what < 14 && len(c.held) > 0:
		at := rng.IntN(len(c.held))
		p := c.held[at]
		if rng.IntN(5) == 0 {
			p = s.Detach(s.request(classes[rng.IntN(4)]), p).Permit
			if p == 0 { // refused: it goes on as it is
				p = c.held[at]
			}
		}
		s.Release(nil, p, pipeline.Result{Outcome: pipeline.Outcome(rng.IntN(4))})
		c.held = slices.Delete(c.held, at, at+1)
	case what == 14 && len(c.under) > 0:
		c.under[rng.IntN(len(c.under))].leave()
	case what == 15:
		c.stage = views[rng.IntN(len(views))]
	case what == 16:
		s.state.parallel = 1 + rng.IntN(64)
		s.state.backlog = func() backlog { return backlog{time.Duration(rng.IntN(30)) * time.Millisecond, rng.IntN(500)} }
	case what == 17:
		if s.state.Pin(rng.Float64() * 3); rng.IntN(2) == 0 {
			s.state.Unpin()
		}
	case what == 18:
		s.Tick(s.state.clock.now() - rng.Int64N(int64(time.Hour)))
	default:
		pass(time.Duration(rng.IntN(150)) * time.Millisecond)
		s.Tick(s.state.clock.now())
		synctest.Wait()
		c.nobodyMayRun(t)
	}
}

var classes = priority.All

// collect takes in the answers that have come.
func (c *crowdOf) collect() {
	synctest.Wait()
	c.under = slices.DeleteFunc(c.under, func(w *comer) bool {
		select {
		case <-w.visit.done:
			w.leave()
			if w.visit.decision.Verdict == pipeline.Admit {
				c.held = append(c.held, w.visit.decision.Permit)
			}
			return true
		default:
			return false
		}
	})
}

// nobodyMayRun fails if the next of some class would find room.
func (c *crowdOf) nobodyMayRun(t *testing.T) {
	t.Helper()
	q := &c.stage.state.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	word := q.slots.word.Load()
	if (word&waiting != 0) != (q.count > 0) {
		t.Fatalf("%d wait, and the word is %#x", q.count, word)
	}
	if w := q.next(total(word), c.stage.state.clock.now()); w != nil {
		t.Fatalf("a request of class %d waits beside %d in flight, under a cap of %d", w.class, total(word), w.stage.capOf(w.class))
	}
}

// end lets all go.
func (c *crowdOf) end(t *testing.T) {
	t.Helper()
	for len(c.held)+len(c.under) > 0 {
		c.stage.releaseAll(c.held)
		c.held = nil
		pass(time.Second)
		c.collect()
	}
	c.stage.mustBeEmpty(t)
}

// A release of a class of which nothing is out gives nothing to who waits, not
// even where it comes in between: the slots that are out are the only ones.
func TestASlotThatIsNotOutIsNotHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1, MaxWait: time.Second}, NewState())
		held := s.hold(t, priority.Critical, 1)
		v := s.start(t.Context(), s.request(priority.Critical))
		for class := range priority.Count - 1 {
			s.state.queue.give(class, s.state.clock.now())
		}
		synctest.Wait()
		if snap := s.state.Snapshot(); snap.InFlight != [priority.Count]int{3: 1} || snap.Queued[3] != 1 {
			t.Fatalf("in flight %v, queued %v", snap.InFlight, snap.Queued)
		}
		s.releaseAll(held)
		<-v.done
		s.releaseAll([]pipeline.Permit{v.decision.Permit})
		s.mustBeEmpty(t)
	})
}

// A request that would look at the processors does not wait for a tick that is
// under way.
func TestAGlanceWaitsForNobody(t *testing.T) {
	s, asked := late(t, Config{})
	s.state.ticking.Lock()
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		s.Look(s.request(priority.Critical))
	}()
	select {
	case <-passed:
	case <-time.After(20 * time.Second):
		t.Error("it waits")
	}
	s.state.ticking.Unlock()
	if <-passed; *asked != 0 {
		t.Error("it looked, beside the tick")
	}
}

// What is refused on trial is no demand: or a page that shows it would raise it.
func TestATrialIsNoDemand(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 1, QueuePerClass: NoQueue}, NewState())
	defer s.releaseAll(s.hold(t, priority.Critical, 1))
	r := s.request(priority.Critical)
	r.Trial = true
	if d := s.Look(r); d.Reason != pipeline.WorkerShed {
		t.Fatalf("%+v", d)
	}
	if n := s.state.meter.refused.Load(); n != 0 {
		t.Errorf("%d refused", n)
	}
}

// Nobody is told to come back sooner than another could have waited.
func TestNobodyIsToldToComeBackAtOnce(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 1, QueuePerClass: NoQueue, MaxWait: 3 * time.Second}, NewState())
	defer s.releaseAll(s.hold(t, priority.Critical, 1))
	s.state.outlook.service.Store(int64(time.Millisecond))
	s.state.outlook.gap.Store(int64(time.Millisecond))
	if r := s.request(priority.Critical); s.Look(r).Reason != pipeline.WorkerShed || r.Detail.RetryAfter != 3*time.Second {
		t.Errorf("come back in %v, want 3s", r.Detail.RetryAfter)
	}
}

// A lower limit helps until it is at its floor, which is the number of
// processors: then, and not before, cohorts are dropped.
func TestCohortsAreDroppedOnceTheLimitIsAtItsFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := calmState()
		state.parallel = 12
		s := newStage(t, Config{MaxInFlight: 40, MaxWait: time.Nanosecond}, state)
		s.Tick(state.clock.now())
		defer s.releaseAll(s.hold(t, priority.Critical, 40))
		state.backlog = func() backlog { return backlog{delay: 50 * time.Millisecond, runnable: 500} }
		for range 100 {
			before := state.Snapshot()
			s.tickFor(100 * time.Millisecond)
			if after := state.Snapshot(); before.Limit > 12 && after.Strain > 0 {
				t.Fatalf("the strain is %v at a limit of %d", after.Strain, before.Limit)
			}
		}
		if snap := state.Snapshot(); snap.Limit != 12 || snap.Strain != maxLevel {
			t.Errorf("limit %d, strain %v; want 12 and 3", snap.Limit, snap.Strain)
		}
	})
}
