package concurrency_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
)

func adaptive(t testing.TB, state *concurrency.State, lowest, highest int64) *concurrency.Stage {
	t.Helper()
	s, err := concurrency.New(concurrency.Config{Limits: []concurrency.Limit{{Name: "db", Min: lowest, Max: highest}}}, state)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// seconds lets seconds pass in each of which some requests end.
func seconds(s *concurrency.Stage, clock *int64, n, completed, dropped int) {
	r := request("alice", "/")
	for range n {
		for range completed {
			s.Learn(r, pipeline.Result{Outcome: pipeline.Completed})
		}
		for range dropped {
			s.Learn(r, pipeline.Result{Outcome: pipeline.Dropped})
		}
		for range 10 {
			*clock += int64(100 * time.Millisecond)
			s.Tick(*clock)
		}
	}
}

func capOf(t testing.TB, s *concurrency.Stage) int64 {
	t.Helper()
	n, ok := s.Cap("db")
	if !ok {
		t.Fatal("the limit does not adapt")
	}
	if claimed := s.Claims(request("alice", "/"), nil)[0].Limit.Max; claimed != n {
		t.Fatalf("the cap is %d, and %d is claimed", n, claimed)
	}
	return n
}

func TestAFailingDependencyLowersTheCapAndItsRecoveryRestoresIt(t *testing.T) {
	s, clock := adaptive(t, nil, 4, 40), int64(1)
	s.Tick(clock)
	seconds(s, &clock, 5, 100, 0)
	if n := capOf(t, s); n != 40 {
		t.Errorf("healthy: the cap is %d, want 40", n)
	}
	seconds(s, &clock, 5, 100, 9) // under a tenth: noise
	if n := capOf(t, s); n != 40 {
		t.Errorf("noise: the cap is %d, want 40", n)
	}
	seconds(s, &clock, 5, 0, 4) // too few to tell
	if n := capOf(t, s); n != 40 {
		t.Errorf("too few samples: the cap is %d, want 40", n)
	}
	seconds(s, &clock, 10, 50, 50)
	if n := capOf(t, s); n > 8 {
		t.Errorf("after ten bad seconds the cap is %d, want a fifth or less", n)
	}
	seconds(s, &clock, 30, 50, 50)
	if n := capOf(t, s); n != 4 {
		t.Errorf("after forty bad seconds the cap is %d, want the minimum", n)
	}
	seconds(s, &clock, 20, 100, 0)
	if n := capOf(t, s); n != 40 {
		t.Errorf("after twenty good seconds the cap is %d, want 40", n)
	}
}

func TestClientsThatLeaveTeachNothing(t *testing.T) {
	s, clock := adaptive(t, nil, 4, 40), int64(1)
	s.Tick(clock)
	for range 100 { // not a hundred good samples beside the five bad ones
		s.Learn(request("alice", "/"), pipeline.Result{Outcome: pipeline.Ignored})
	}
	seconds(s, &clock, 1, 0, 5)
	if n := capOf(t, s); n >= 40 {
		t.Errorf("the cap is %d, while all that ended was an overload signal", n)
	}
}

func TestAnAdaptedCapOutlivesThePlan(t *testing.T) {
	state := concurrency.NewState()
	s, clock := adaptive(t, state, 4, 40), int64(1)
	s.Tick(clock)
	seconds(s, &clock, 5, 0, 100)
	before := capOf(t, s)
	if after := capOf(t, adaptive(t, state, 4, 40)); after != before || before == 40 {
		t.Errorf("the cap was %d before the change of plan and is %d after", before, after)
	}
	if n := capOf(t, adaptive(t, state, 4, 10)); n > 10 {
		t.Errorf("the cap is %d, above the new maximum of 10", n)
	}
	if after := capOf(t, s); after != before {
		t.Errorf("a stage that was only built changed the running cap from %d to %d", before, after)
	}
}

func TestTheCapStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lowest := rapid.Int64Range(1, 50).Draw(rt, "min")
		highest := rapid.Int64Range(lowest, 100).Draw(rt, "max")
		s, clock := adaptive(t, nil, lowest, highest), int64(1)
		for range rapid.IntRange(1, 60).Draw(rt, "seconds") {
			seconds(s, &clock, 1, rapid.IntRange(0, 20).Draw(rt, "completed"), rapid.IntRange(0, 20).Draw(rt, "dropped"))
			if n := capOf(t, s); n < lowest || n > highest {
				rt.Fatalf("the cap is %d, outside %d … %d", n, lowest, highest)
			}
		}
	})
}

func TestTheBoundsAreChecked(t *testing.T) {
	for _, lowest := range []int64{-1, 41} {
		_, err := concurrency.New(concurrency.Config{Limits: []concurrency.Limit{{Name: "db", Min: lowest, Max: 40}}}, nil)
		if err == nil {
			t.Errorf("min %d of max 40 was taken", lowest)
		}
	}
	if fixed := stage(t, concurrency.Limit{Name: "db", Max: 40}); fixed.Learns() {
		t.Error("a fixed cap wants to learn")
	}
}
