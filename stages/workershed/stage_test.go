package workershed

import (
	"context"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

func newStage(tb testing.TB, c Config, state *State) *Stage {
	tb.Helper()
	s, err := New(c, state)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// request is one of a class, arriving now.
func (s *Stage) request(class priority.Class) *pipeline.Request {
	return &pipeline.Request{Class: class, Now: s.state.clock.now()}
}

// hold takes n slots of a class, which must be free.
func (s *Stage) hold(tb testing.TB, class priority.Class, n int) (permits []pipeline.Permit) {
	tb.Helper()
	for i := range n {
		d := s.Take(context.Background(), s.request(class))
		if d.Verdict != pipeline.Admit {
			tb.Fatalf("slot %d of %d for %s: %v", i+1, n, class, d.Reason)
		}
		permits = append(permits, d.Permit)
	}
	return permits
}

func (s *Stage) releaseAll(permits []pipeline.Permit) {
	for _, p := range permits {
		s.Release(nil, p, pipeline.Result{})
	}
}

func caller(name string) pipeline.Caller { return pipeline.Caller{ID: store.KeyOf("caller", name)} }

// mustBeEmpty fails unless nothing runs and nobody waits.
func (s *Stage) mustBeEmpty(tb testing.TB) {
	tb.Helper()
	if word := s.state.slots.word.Load(); word != 0 {
		tb.Errorf("the word of the slots is %#x, want 0", word)
	}
	s.state.queue.mu.Lock()
	defer s.state.queue.mu.Unlock()
	if s.state.queue.count != 0 {
		tb.Errorf("%d wait still", s.state.queue.count)
	}
	for row := range s.state.queue.places.row {
		for i := range placesInRow {
			if n := s.state.queue.places.row[row][i].Load(); n != 0 {
				tb.Errorf("a caller has %d places left over", n)
			}
		}
	}
	for i := range s.state.meter.started {
		if n := s.state.meter.started[i].Load(); n != 0 {
			tb.Errorf("%d requests count as running still", n)
		}
	}
}

func TestClassesAreAdmittedUpToTheirCaps(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 20, QueuePerClass: NoQueue}, NewState())
	var held []pipeline.Permit
	for _, step := range []struct {
		class priority.Class
		more  int
	}{{priority.Low, 10}, {priority.Normal, 3}, {priority.High, 3}, {priority.Critical, 4}} {
		held = append(held, s.hold(t, step.class, step.more)...)
		r := s.request(step.class)
		if d := s.Look(r); d.Reason != pipeline.WorkerShed || r.Detail.Rule != Rule || r.Detail.RetryAfter <= 0 {
			t.Errorf("%s with %d in flight: look says %v, %+v", step.class, len(held), d.Reason, r.Detail)
		}
		if d := s.Take(context.Background(), s.request(step.class)); d.Reason != pipeline.WorkerShed {
			t.Errorf("%s with %d in flight: take says %v %v", step.class, len(held), d.Verdict, d.Reason)
		}
	}
	snap := s.state.Snapshot()
	if snap.InFlight != [priority.Count]int{10, 3, 3, 4} || snap.Caps != [priority.Count]int{10, 13, 16, 20} {
		t.Errorf("in flight %v under caps %v", snap.InFlight, snap.Caps)
	}
	s.releaseAll(held)
	s.mustBeEmpty(t)
}

// The share of the critical class is free in the first millisecond of an
// overload, whatever came before it, and whatever has been measured: nothing.
func TestCriticalShareIsFreeInTheFirstMillisecond(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 40}, NewState())
	admitted := 0
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, class := range []priority.Class{priority.Low, priority.Normal, priority.High} {
		for range 1000 {
			if r := s.request(class); s.Look(r).Verdict == pipeline.Admit && s.Take(ctx, r).Verdict == pipeline.Admit {
				admitted++
			}
		}
	}
	if admitted != 32 {
		t.Errorf("%d of 3,000 others are in flight, want 32", admitted)
	}
	for i := range 8 {
		r := s.request(priority.Critical)
		if s.Look(r).Verdict != pipeline.Admit || s.Take(ctx, r).Verdict != pipeline.Admit {
			t.Fatalf("critical request %d of 8 is refused", i+1)
		}
	}
}

// If a class is admitted in a state, so is every more important one.
func TestPriorityOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStage(t)
		r := s.request(priority.Low)
		r.Cohort = priority.Cohort(rapid.IntRange(0, priority.Cohorts-1).Draw(t, "cohort"))
		r.Caller = caller(strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "caller")))
		if left := rapid.Int64Range(-1, 400).Draw(t, "deadline"); left >= 0 {
			r.Deadline = r.Now + left*int64(time.Millisecond)
		}
		r.NoWait = true
		for _, ask := range []struct {
			name string
			ask  func() pipeline.Decision
		}{
			{"look", func() pipeline.Decision { return s.Look(r) }},
			{"take", func() pipeline.Decision {
				d := s.Take(context.Background(), r)
				s.Release(r, d.Permit, pipeline.Result{})
				return d
			}},
		} {
			admitted := false
			for _, r.Class = range priority.All {
				d := ask.ask()
				if admitted && d.Verdict != pipeline.Admit {
					t.Fatalf("%s refuses %s (%v), and admits a less important class", ask.name, r.Class, d.Reason)
				}
				admitted = d.Verdict == pipeline.Admit
				if !admitted && r.Detail.RetryAfter <= 0 {
					t.Fatalf("%s refuses %s and says to retry after %v", ask.name, r.Class, r.Detail.RetryAfter)
				}
			}
		}
	})
}

// drawStage is a stage in any state that it can come to.
func drawStage(t *rapid.T) *Stage {
	state := NewState()
	s, err := New(Config{
		MaxInFlight:   rapid.IntRange(1, 50).Draw(t, "max"),
		QueuePerClass: rapid.SampledFrom([]int{NoQueue, 1, 5, 64}).Draw(t, "queue"),
	}, state)
	if err != nil {
		t.Fatal(err)
	}
	for class := range priority.Count {
		for range rapid.IntRange(0, 30).Draw(t, "in flight") {
			state.slots.take(class, rapid.SampledFrom([]int{s.capOf(class), maxSlots}).Draw(t, "cap"))
		}
		state.queue.queued[class].Store(rapid.Int32Range(0, 6).Draw(t, "queued"))
		for range rapid.IntRange(0, 10).Draw(t, "asking") {
			s.Ask(&pipeline.Request{Class: priority.FromIndex(class), Caller: caller(strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "asker")))})
		}
	}
	state.outlook.service.Store(rapid.Int64Range(0, int64(time.Second)).Draw(t, "service"))
	state.outlook.gap.Store(rapid.Int64Range(0, int64(time.Second)).Draw(t, "gap"))
	state.outlook.hung.Store(rapid.Int64Range(0, 20).Draw(t, "hung"))
	state.Pin(rapid.Float64Range(0, 3).Draw(t, "level"))
	return s
}

func TestReleaseOfAnUnknownPermitIsIgnored(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 4}, NewState())
	for _, p := range []pipeline.Permit{0, newPermit(slotPermit, 3, 1), newPermit(streamPermit, 0, 0), newPermit(exemptPermit, 0, 0), 1 << 63} {
		s.Release(s.request(priority.Normal), p, pipeline.Result{})
	}
	s.mustBeEmpty(t)
	if streams, exempt := s.state.streams.value(), s.state.exempt.value(); streams != 0 || exempt != 0 {
		t.Errorf("%d streams, %d exempt", streams, exempt)
	}
	held := s.hold(t, priority.High, 2)
	s.Release(nil, newPermit(slotPermit, priority.Critical.Index(), 1), pipeline.Result{})
	if got := s.state.slots.total(); got != 2 {
		t.Errorf("%d in flight after a permit of a class that holds nothing, want 2", got)
	}
	s.releaseAll(held)
	s.releaseAll(held) // once is the pipeline's promise; twice must not break the count
	s.mustBeEmpty(t)
}

func TestLimitLoweredBelowWhatIsInFlight(t *testing.T) {
	state := NewState()
	wide := newStage(t, Config{MaxInFlight: 40, QueuePerClass: NoQueue}, state)
	narrow := newStage(t, Config{MaxInFlight: 10, QueuePerClass: NoQueue}, state)
	held := wide.hold(t, priority.Critical, 40)
	refused := func(s *Stage) bool {
		d := s.Take(context.Background(), s.request(priority.Critical))
		s.Release(nil, d.Permit, pipeline.Result{})
		return d.Verdict != pipeline.Admit
	}
	for len(held) > 10 {
		if !refused(narrow) {
			t.Fatalf("admitted with %d in flight under a limit of 10", len(held))
		}
		narrow.Release(nil, held[0], pipeline.Result{}) // under another view than took it
		held = held[1:]
	}
	narrow.Release(nil, held[0], pipeline.Result{})
	held = held[1:]
	if refused(narrow) || state.slots.total() != 9 {
		t.Fatalf("refused with %d in flight under a limit of 10", state.slots.total())
	}
	held = append(held, wide.hold(t, priority.Critical, 31)...)
	if !refused(wide) {
		t.Error("more than 40 in flight")
	}
	wide.releaseAll(held)
	wide.mustBeEmpty(t)
}

func TestShareOfNothingAdmitsNothing(t *testing.T) {
	s := newStage(t, Config{ClassShare: [priority.Count]float64{0, 0.5, 0.5, 1}}, NewState())
	for _, noWait := range []bool{false, true} {
		r := s.request(priority.Low)
		r.NoWait = noWait
		if s.Look(r).Verdict == pipeline.Admit || s.Take(context.Background(), r).Verdict == pipeline.Admit {
			t.Errorf("a class with a share of 0 is admitted (without waiting: %v)", noWait)
		}
	}
	s.releaseAll(s.hold(t, priority.Normal, 1))
}

func TestDetachFreesTheSlotAndActsOnce(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 2, MaxStreams: 2, QueuePerClass: NoQueue}, NewState())
	r := s.request(priority.Critical)
	var streams []pipeline.Permit
	for range 2 {
		d := s.Detach(r, s.hold(t, priority.Critical, 1)[0])
		again := s.Detach(r, d.Permit)
		if d.Verdict != pipeline.Admit || again != d {
			t.Fatalf("detached: %+v, again: %+v", d, again)
		}
		streams = append(streams, d.Permit)
	}
	if got := s.state.Snapshot(); got.Streams != 2 || got.InFlight != [priority.Count]int{} || got.MaxStreams != 2 {
		t.Errorf("%d streams of %d, %v in flight; want 2 of 2, none", got.Streams, got.MaxStreams, got.InFlight)
	}
	held := s.hold(t, priority.Critical, 2)
	r.Detail = pipeline.Detail{}
	if d := s.Detach(r, held[0]); d.Reason != pipeline.WorkerShed || r.Detail.RetryAfter <= 0 || s.state.slots.total() != 2 {
		t.Errorf("a third stream of two: %v, %+v, %d in flight", d.Reason, r.Detail, s.state.slots.total())
	}
	if d := s.Detach(r, 0); d != (pipeline.Decision{}) {
		t.Errorf("detaching what holds nothing: %+v", d)
	}
	s.releaseAll(held)
	s.releaseAll(streams)
	s.mustBeEmpty(t)
	if n := s.state.streams.value(); n != 0 {
		t.Errorf("%d streams left", n)
	}
}

func TestExemptReserveHoldsWhenAllIsShed(t *testing.T) {
	isProbe := func(r *pipeline.Request) bool { return r.Path == "/healthz" }
	s := newStage(t, Config{MaxInFlight: 4, QueuePerClass: NoQueue, Exempt: isProbe, ExemptMax: 2}, NewState())
	s.state.Pin(3)
	held := s.hold(t, priority.Critical, 4)
	probe := s.request(priority.Low)
	probe.Path = "/healthz"
	var probes []pipeline.Permit
	for range 2 {
		if d := s.Look(probe); d.Verdict != pipeline.Admit {
			t.Fatalf("look refuses a probe: %v", d.Reason)
		}
		d := s.Take(context.Background(), probe)
		if d.Verdict != pipeline.Admit {
			t.Fatalf("take refuses a probe: %v", d.Reason)
		}
		probes = append(probes, d.Permit)
	}
	if d := s.Look(probe); d.Verdict == pipeline.Admit {
		t.Error("a third probe finds no place on a reserve of two, and still is not judged like others")
	}
	if d := s.Take(context.Background(), probe); d.Verdict == pipeline.Admit {
		t.Error("the reserve gave a third place of two")
	}
	s.Release(probe, probes[0], pipeline.Result{})
	if d := s.Take(context.Background(), probe); d.Verdict != pipeline.Admit {
		t.Error("a place that was given back is not free")
	} else {
		s.Release(probe, d.Permit, pipeline.Result{})
	}
	if got := s.state.slots.total(); got != 4 {
		t.Errorf("%d slots are out, want 4: probes take none", got)
	}
	s.Release(probe, probes[1], pipeline.Result{})
	s.releaseAll(held)
	s.mustBeEmpty(t)
	if n := s.state.exempt.value(); n != 0 {
		t.Errorf("%d exempt requests left", n)
	}
}

// A stream of somebody who watches must not keep the probes out.
func TestExemptStreamLeavesTheReserve(t *testing.T) {
	s := newStage(t, Config{MaxStreams: 1, Exempt: func(*pipeline.Request) bool { return true }}, NewState())
	r := s.request(priority.Normal)
	first, second := s.Take(context.Background(), r), s.Take(context.Background(), r)
	first = s.Detach(r, first.Permit)
	if second = s.Detach(r, second.Permit); second.Verdict != pipeline.Admit {
		t.Errorf("an exempt stream is refused: %v", second.Reason)
	}
	if streams, exempt := s.state.streams.value(), s.state.exempt.value(); streams != 1 || exempt != 1 {
		t.Errorf("%d streams, %d exempt; want 1, 1", streams, exempt)
	}
	s.Release(r, first.Permit, pipeline.Result{})
	s.Release(r, second.Permit, pipeline.Result{})
	if streams, exempt := s.state.streams.value(), s.state.exempt.value(); streams != 0 || exempt != 0 {
		t.Errorf("%d streams, %d exempt are left", streams, exempt)
	}
}

func TestTheSlowLayerDropsWholeCohorts(t *testing.T) {
	s := newStage(t, Config{}, NewState())
	s.state.Pin(1.25)
	for cohort := range priority.Cohorts {
		for _, class := range priority.All {
			r := s.request(class)
			r.Cohort = priority.Cohort(cohort)
			want := class == priority.Low || class == priority.Normal && cohort < priority.Cohorts/4
			for range 3 {
				if got := s.Look(r).Verdict == pipeline.Reject; got != want {
					t.Fatalf("at level 1.25 %s of cohort %d is dropped: %v", class, cohort, got)
				}
			}
		}
	}
	if got := s.state.Snapshot(); got.RefusedByLevel != [priority.Count]uint64{3 * 128, 3 * 32, 0, 0} || got.Shed != [priority.Count]float64{1, 0.25, 0, 0} {
		t.Errorf("refused %v at %v", got.RefusedByLevel, got.Shed)
	}
}

// Callers that are dropped are not all told the same moment.
func TestRetryAfterOfTheSlowLayerDiffersByCohort(t *testing.T) {
	s := newStage(t, Config{}, NewState())
	s.state.Pin(1)
	told := map[time.Duration]bool{}
	for cohort := range priority.Cohorts {
		r := s.request(priority.Low)
		r.Cohort = priority.Cohort(cohort)
		s.Look(r)
		told[r.Detail.RetryAfter] = true
	}
	if len(told) != priority.Cohorts {
		t.Errorf("%d different hints for %d cohorts", len(told), priority.Cohorts)
	}
}

func TestNothingAllocates(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 4}, NewState())
	ctx := context.Background()
	r := s.request(priority.Normal)
	r.Caller = caller("c")
	check := func(what string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
	check("look, take, release", func() {
		s.Look(r)
		s.Release(r, s.Take(ctx, r).Permit, pipeline.Result{})
	})
	check("asking", func() { s.Ask(r); s.Asked(r) })
	check("detach", func() {
		s.Release(r, s.Detach(r, s.Take(ctx, r).Permit).Permit, pipeline.Result{})
	})
	check("a tick", func() {
		s.state.meter.since.Store(s.state.clock.now() - int64(time.Second))
		s.Tick(s.state.clock.now())
	})
	held := s.hold(t, priority.Critical, 4)
	r.Deadline = r.Now + 4
	check("refusing for want of room", func() { s.Look(r) })
	r.Deadline = 0
	r.NoWait = true
	check("an estimate", func() { s.Release(r, s.Take(ctx, r).Permit, pipeline.Result{}) })
	s.releaseAll(held)
	s.state.Pin(3)
	check("refusing by level", func() { s.Look(r) })
}
