package workershed

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// calm is a run queue that nobody waits in.
func calm() backlog { return backlog{} }

func calmState() *State {
	s := NewState()
	s.backlog, s.glances.backlog = calm, calm
	return s
}

// tickFor ticks for a stretch of virtual time, as a pipeline does.
func (s *Stage) tickFor(d time.Duration) {
	for range d / (100 * time.Millisecond) {
		pass(100 * time.Millisecond)
		s.Tick(s.state.clock.now())
	}
}

func TestUtilizationLevelAndDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 10, QueuePerClass: NoQueue}, calmState())
		s.Tick(s.state.clock.now())
		held := s.hold(t, priority.Critical, 9)
		s.tickFor(28 * time.Second)
		snap := s.state.Snapshot()
		if math.Abs(snap.Utilization-0.9) > 1e-9 || snap.Level != 0 {
			t.Errorf("9 of 10 in use for 28s: utilization %v, level %v", snap.Utilization, snap.Level)
		}
		s.tickFor(120 * time.Second)
		if snap = s.state.Snapshot(); math.Abs(snap.Level-0.5) > 0.01 || math.Abs(snap.Shed[0]-0.5) > 0.01 {
			t.Errorf("two minutes later: level %v, shed %v", snap.Level, snap.Shed)
		}
		s.releaseAll(held)
		s.tickFor(10 * time.Second)
		if snap = s.state.Snapshot(); snap.Utilization != 0 || snap.Level >= 0.5 || snap.Level < 0.4 {
			t.Errorf("10s after: utilization %v, level %v", snap.Utilization, snap.Level)
		}
	})
}

// Demand is what utilization would be with nothing refused: here four requests
// of a quarter of a second arrive each second, and all but one are refused.
func TestDemandCountsWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1, QueuePerClass: NoQueue, Adaptive: Fixed}, calmState())
		s.Tick(s.state.clock.now())
		for range 20 {
			held := s.hold(t, priority.Critical, 1)
			for range 3 {
				s.Look(s.request(priority.Critical))
			}
			pass(250 * time.Millisecond)
			s.releaseAll(held)
			s.tickFor(800 * time.Millisecond) // 1.05s in all, ticks being later than their time
		}
		snap := s.state.Snapshot()
		if math.Abs(snap.Utilization-0.25) > 0.03 || math.Abs(snap.Demand-1) > 0.1 {
			t.Errorf("utilization %v, demand %v; want about 0.25, 1", snap.Utilization, snap.Demand)
		}
	})
}

func TestLimitFollowsTheRunQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := NewState()
		if got := state.Limit(); got != 0 {
			t.Errorf("without a stage the limit is %d", got)
		}
		delay := 12 * time.Millisecond
		state.backlog = func() backlog { return backlog{delay: delay} }
		s := newStage(t, Config{MaxInFlight: 40}, state)
		s.Tick(state.clock.now())
		s.hold(t, priority.Critical, 24)
		s.tickFor(300 * time.Millisecond)
		snap := state.Snapshot()
		if state.Limit() != 23 || snap.Limit != 23 || snap.Caps != [priority.Count]int{12, 15, 19, 23} || snap.RunQueue != delay {
			t.Errorf("after three slow windows: limit %d, caps %v, run queue %v; want 23 of 40", snap.Limit, snap.Caps, snap.RunQueue)
		}
		fixed := newStage(t, Config{MaxInFlight: 40, Adaptive: Fixed}, state)
		if fixed.limit() != 40 || s.limit() != 23 {
			t.Errorf("a fixed view has a limit of %d, the adaptive one of %d", fixed.limit(), s.limit())
		}
		delay = 0
		s.tickFor(30 * time.Second)
		if got := state.Snapshot(); got.Limit != 40 {
			t.Errorf("30s after it is over the limit is %d", got.Limit)
		}
		if told := tell(state); told != "limit 40 to 40 (23 … 40) in 1.9s: run-queue 0.012" {
			t.Errorf("the timeline says:\n%s", told)
		}
	})
}

// Strain drops cohorts as the level does, says so, and ends; a pin is stronger.
func TestStrainDropsCohorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := NewState()
		seen := backlog{delay: 80 * time.Millisecond, runnable: 1000}
		state.backlog = func() backlog { return seen }
		s := newStage(t, Config{}, state)
		s.Tick(state.clock.now())
		s.tickFor(200 * time.Millisecond)
		snap := state.Snapshot()
		if math.Abs(snap.Strain-1.4) > 1e-9 || snap.Level != 0 || math.Abs(snap.Shed[1]-0.4) > 1e-9 || snap.Runnable != 1000 {
			t.Errorf("strain %v, level %v, shed %v, %d ready", snap.Strain, snap.Level, snap.Shed, snap.Runnable)
		}
		r := s.request(priority.Low)
		if d := s.Look(r); d.Reason != pipeline.WorkerShed || r.Detail.RetryAfter < time.Second || r.Detail.RetryAfter > 2*time.Second {
			t.Errorf("Low: %v %v, to come back in %v", d.Verdict, d.Reason, r.Detail.RetryAfter)
		}
		if told := tell(state); !strings.Contains(told, "strain 0 to 1.4 in 100ms: run-queue 0.08") {
			t.Errorf("the timeline does not tell of it:\n%s", told)
		}
		state.Pin(0)
		s.tickFor(time.Second)
		if d := s.Look(r); d.Verdict != pipeline.Admit {
			t.Errorf("pinned at 0: %v", d.Reason)
		}
		state.Unpin()
		s.tickFor(time.Second)
		if got := state.Snapshot().Strain; got != 3 {
			t.Errorf("a second after it was let go the strain is %v", got)
		}
		newStage(t, Config{Adaptive: Fixed}, state).tickFor(100 * time.Millisecond)
		if got := state.Snapshot().Strain; got != 0 {
			t.Errorf("under a configuration that does not adapt the strain is %v", got)
		}
		s.tickFor(time.Second)
		seen = backlog{}
		s.tickFor(2200 * time.Millisecond)
		if got := state.Snapshot().Strain; got != 0 {
			t.Errorf("2.2s after it is over the strain is %v", got)
		}
	})
}

func TestFixedLimitDoesNotAdapt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := NewState()
		state.backlog = func() backlog { return backlog{time.Second, 1000} }
		s := newStage(t, Config{MaxInFlight: 40, Adaptive: Fixed}, state)
		s.tickFor(time.Minute)
		if got := state.Snapshot(); got.Limit != 40 || got.RunQueue != time.Second || got.Changes == nil || len(got.Changes) != 0 {
			t.Errorf("limit %d at a run queue of %v, %v", got.Limit, got.RunQueue, got.Changes)
		}
		if got := newStage(t, Config{MaxInFlight: 40}, state).limit(); got != 40 {
			t.Errorf("a view that adapts begins at %d", got)
		}
	})
}

func tell(s *State) string {
	var told []string
	for _, c := range s.Snapshot().Changes {
		told = append(told, c.String())
	}
	return strings.Join(told, "\n")
}

// A waiter is served by a limit that rises, though nothing ends.
func TestRaisedLimitServesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := calmState()
		state.limit.Store(4)
		state.limiter.reduced = 4
		s := newStage(t, Config{MaxInFlight: 40, MaxWait: time.Second}, state)
		s.Tick(state.clock.now())
		s.hold(t, priority.Critical, 4)
		v := s.start(t.Context(), s.request(priority.Critical))
		s.tickFor(100 * time.Millisecond)
		if <-v.done; v.decision.Verdict != pipeline.Admit || v.took != 100*time.Millisecond {
			t.Errorf("%v %v after %v", v.decision.Verdict, v.decision.Reason, v.took)
		}
	})
}

func TestAnotherConfigurationKeepsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := calmState()
		first := newStage(t, Config{MaxInFlight: 10, QueuePerClass: NoQueue}, state)
		first.Tick(state.clock.now())
		held := first.hold(t, priority.Critical, 10)
		state.Pin(1.5)
		second := newStage(t, Config{MaxInFlight: 20}, state)
		if got := state.Snapshot(); got.MaxInFlight != 10 {
			t.Errorf("a view that is only made changes the maximum to %d", got.MaxInFlight)
		}
		more := second.hold(t, priority.Critical, 10)
		second.tickFor(200 * time.Millisecond)
		snap := state.Snapshot()
		if snap.InFlight[3] != 20 || snap.MaxInFlight != 20 || snap.Level != 1.5 {
			t.Errorf("in flight %v of %d, level %v", snap.InFlight, snap.MaxInFlight, snap.Level)
		}
		if told := tell(state); !strings.Contains(told, "limit 10 to 20 in 0s: settings 20") {
			t.Errorf("the timeline does not tell of the change:\n%s", told)
		}
		first.releaseAll(held)
		first.releaseAll(more)
		second.mustBeEmpty(t)
	})
}

func TestPinHoldsAndUnpinLetsItSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{}, calmState())
		s.Tick(s.state.clock.now())
		s.state.Pin(9)
		if got := s.state.Snapshot(); got.Level != 3 || !got.Pinned {
			t.Errorf("pinned at 9: level %v, pinned %v", got.Level, got.Pinned)
		}
		s.state.Pin(2)
		s.tickFor(time.Minute)
		if got := s.state.Snapshot().Level; got != 2 {
			t.Errorf("after a quiet minute at a pinned 2 the level is %v", got)
		}
		s.state.Unpin()
		s.tickFor(time.Minute)
		if got := s.state.Snapshot(); math.Abs(got.Level-1.5) > 0.02 || got.Pinned {
			t.Errorf("a minute after: level %v, pinned %v", got.Level, got.Pinned)
		}
		s.state.Pin(math.NaN())
		if got := s.state.Snapshot().Level; got != 0 {
			t.Errorf("pinned at no number: %v", got)
		}
	})
}

func TestNoRampDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 4, Ramp: NoRamp}, calmState())
		s.hold(t, priority.Critical, 4)
		s.tickFor(10 * time.Minute)
		if got := s.state.Snapshot().Level; got != 0 {
			t.Errorf("the level is %v", got)
		}
	})
}

// Ticks that come twice, backwards, or after a long sleep do no harm.
func TestOddTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := NewState()
		state.backlog = func() backlog { return backlog{delay: time.Second} }
		s := newStage(t, Config{MaxInFlight: 100}, state)
		s.Tick(state.clock.now())
		s.hold(t, priority.Critical, 90)
		pass(100 * time.Millisecond)
		for range 20 { // two pipelines on one state, and a tick that hurries
			s.Tick(state.clock.now())
			pass(time.Millisecond)
		}
		if got := s.limit(); got != 85 {
			t.Errorf("one window cut the limit to %d, want 85", got)
		}
		now := state.clock.now()
		s.Tick(now - int64(time.Hour))
		s.Tick(now)
		if got := state.Snapshot(); got.Limit < 60 || got.Level != 0 {
			t.Errorf("after a step back: limit %d, level %v", got.Limit, got.Level)
		}
		pass(24 * time.Hour)
		s.Tick(state.clock.now())
		if got := state.Snapshot(); got.Level != 0 || got.Limit < 50 {
			t.Errorf("after a day in one tick: limit %d, level %v", got.Limit, got.Level)
		}
	})
}

// The stage's own clock finds the pipeline's, wherever that stands.
func TestClockFollowsThePipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
			c := newClock()
			pipelineNow := func() int64 { return time.Now().UnixNano() + int64(ahead) }
			for _, late := range []time.Duration{30 * time.Millisecond, time.Millisecond, 50 * time.Millisecond} {
				stamp := pipelineNow()
				pass(late)
				c.follow(stamp)
			}
			if off := time.Duration(pipelineNow() - c.now()); off != time.Millisecond {
				t.Errorf("%v ahead: off by %v, want what the quickest tick lost", ahead, off)
			}
		}
	})
}

// A store that takes time makes stamps old; the time in it is not the
// worker's.
func TestTimeInTheStoreIsNotServiceTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 10}, calmState())
		s.Tick(s.state.clock.now())
		for range 50 {
			r := s.request(priority.Normal)
			s.Ask(r)
			pass(10 * time.Millisecond)
			s.Asked(r)
			d := s.Take(t.Context(), r)
			pass(10 * time.Millisecond)
			s.Release(r, d.Permit, pipeline.Result{At: s.state.clock.now()})
		}
		s.Tick(s.state.clock.now())
		if got := s.state.Snapshot().Service; got < 9*time.Millisecond || got > 11*time.Millisecond {
			t.Errorf("service takes %v, want 10ms", got)
		}
	})
}

// A stamp that cannot be true must not be measured with.
func TestForeignStampsAreNotMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 10}, calmState())
		s.Tick(s.state.clock.now())
		for _, now := range []int64{0, 1, math.MaxInt64, math.MinInt64} {
			d := s.Take(t.Context(), &pipeline.Request{Now: now})
			pass(100 * time.Millisecond)
			s.Release(nil, d.Permit, pipeline.Result{})
		}
		s.tickFor(2 * time.Second)
		if got := s.state.Snapshot(); got.Utilization > 0.1 || got.Service > time.Second {
			t.Errorf("utilization %v, service %v", got.Utilization, got.Service)
		}
	})
}

func TestAskingRequestsCountAsQueued(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 10, QueuePerClass: 4}, NewState())
	held := s.hold(t, priority.Critical, 8)
	var asking []*pipeline.Request
	passed := func() bool {
		r := s.request(priority.Critical)
		if s.Look(r).Verdict != pipeline.Admit {
			return false
		}
		s.Ask(r)
		asking = append(asking, r)
		return true
	}
	for passed() {
	}
	if len(asking) != 6 { // two for the free slots, four for the queue
		t.Errorf("%d were sent to the store, want 6", len(asking))
	}
	s.Asked(asking[0])
	if !passed() {
		t.Error("a place that was left is not free")
	}
	for _, r := range asking[1:] {
		s.Asked(r)
	}
	s.releaseAll(held)
	s.mustBeEmpty(t)
}

// One caller has a bounded number of places, waiting and asking together;
// while there is room it may ask as often as it likes.
func TestPlacesAreBoundedPerCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 16}, NewState())
		abuser, other := caller("abuser"), caller("other")
		from := func(c pipeline.Caller) *pipeline.Request {
			r := s.request(priority.Critical)
			r.Caller = c
			return r
		}
		for range 10 {
			r := from(abuser)
			s.Ask(r)
			if d := s.Look(r); d.Verdict != pipeline.Admit {
				t.Fatal("a caller is bounded while there is room for all")
			}
			defer s.Asked(r)
		}
		held := s.hold(t, priority.Critical, 16)
		if d := s.Look(from(abuser)); d.Reason != pipeline.WorkerShed {
			t.Errorf("a caller with ten places of 16/4: %v %v", d.Verdict, d.Reason)
		}
		if d := s.Take(t.Context(), from(abuser)); d.Reason != pipeline.WorkerShed {
			t.Errorf("the same in take: %v %v", d.Verdict, d.Reason)
		}
		if d := s.Look(from(other)); d.Verdict != pipeline.Admit {
			t.Errorf("another caller is refused for it: %v", d.Reason)
		}
		v := s.start(t.Context(), from(other))
		s.releaseAll(held)
		if <-v.done; v.decision.Verdict != pipeline.Admit {
			t.Errorf("another caller: %v", v.decision.Reason)
		}
	})
}

// Who would surely not get a slot in time is refused from memory, with the
// queue empty: a place would be of no use, and the store need not be asked.
func TestLookRefusesWhatWouldWaitTooLong(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 4}, NewState())
	held := s.hold(t, priority.Critical, 4)
	r := s.request(priority.Critical)
	for _, c := range []struct {
		service, gap time.Duration
		hung         int64
		verdict      pipeline.Verdict
		retryAfter   time.Duration
	}{
		{0, 0, 0, pipeline.Admit, 0}, // nothing is known
		{70 * time.Millisecond, time.Hour, 0, pipeline.Admit, 0},
		{400 * time.Millisecond, time.Second, 0, pipeline.Reject, 100 * time.Millisecond},
		{400 * time.Millisecond, 10 * time.Millisecond, 0, pipeline.Admit, 0},
		{40 * time.Millisecond, time.Minute, 4, pipeline.Reject, time.Minute},
		{40 * time.Millisecond, time.Hour, 4, pipeline.Reject, 10 * time.Minute},
	} {
		s.state.outlook.service.Store(int64(c.service))
		s.state.outlook.gap.Store(int64(c.gap))
		s.state.outlook.hung.Store(c.hung)
		r.Detail = pipeline.Detail{}
		if d := s.Look(r); d.Verdict != c.verdict || r.Detail.RetryAfter != c.retryAfter {
			t.Errorf("%v a request, one ends each %v, %d hang: %v, back in %v; want %v, %v",
				c.service, c.gap, c.hung, d.Verdict, r.Detail.RetryAfter, c.verdict, c.retryAfter)
		}
	}
	s.releaseAll(held)
}

// In shadow nobody waits: the answer is whether a slot would have come free.
func TestEstimateInShadow(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 10}, NewState())
	s.state.outlook.service.Store(int64(10 * time.Millisecond))
	s.state.outlook.gap.Store(int64(5 * time.Millisecond))
	held := s.hold(t, priority.Critical, 10)
	admitted := 0
	for range 100 {
		r := s.request(priority.Critical)
		r.NoWait = true
		d := s.Take(context.Background(), r)
		if d.Verdict != pipeline.Admit {
			if d.Reason != pipeline.WorkerShed || r.Detail.RetryAfter < 20*time.Millisecond {
				t.Errorf("refused as %v, to come back in %v", d.Reason, r.Detail.RetryAfter)
			}
			continue
		}
		admitted++
		held = append(held, d.Permit)
	}
	if admitted != 40 { // ten slots of 10ms serve forty in the 40ms that one may wait
		t.Errorf("%d of 100 would have got a slot, want 40", admitted)
	}
	s.releaseAll(held)
	s.mustBeEmpty(t)
}

func TestSnapshotIsJSON(t *testing.T) {
	s := newStage(t, Config{}, NewState())
	s.state.Pin(1)
	text, err := json.Marshal(s.state.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"limit":200`, `"level":1`, `"signal":"operator"`, `"subject":"level"`, `"run_queue_ns":0`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}
