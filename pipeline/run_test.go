package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

type ticking struct {
	looker
	ticks []int64
	panic bool
}

func (s *ticking) Tick(now int64) {
	s.ticks = append(s.ticks, now)
	if s.panic {
		panic("planted panic")
	}
}

// elapse lets virtual time pass, and what it woke come to rest.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestRunTicksStagesOfTheCurrentPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &ticking{panic: true}, &ticking{}
		p := build(t, nil, nil, pipeline.Entry{Name: "a", Stage: first}, pipeline.Entry{Name: "b", Stage: second})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		elapse(time.Second + time.Millisecond)
		if len(first.ticks) != 10 || len(second.ticks) != 10 {
			t.Errorf("ticked %d and %d times in a second, want 10 each", len(first.ticks), len(second.ticks))
		}
		other, err := pipeline.NewPlan()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Swap(other); err != nil {
			t.Fatal(err)
		}
		elapse(time.Second)
		if len(first.ticks) != 10 {
			t.Error("a stage that left the plan is still ticked")
		}
		if err := p.Run(ctx); err == nil {
			t.Error("a second Run was not refused")
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestRunRenewsTheSlotsOfLongRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &trace{}
		p := build(t, newCounts(tr), nil,
			pipeline.Entry{Name: "slots", Stage: &sharer{looker{}, claimOf(slots(t, "slots"), tokens(t, "rate"))}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		elapse(250 * time.Millisecond)
		short := &pipeline.Request{}
		p.Acquire(ctx, short)
		elapse(100 * time.Millisecond) // the renewal at 300ms passes
		p.Release(short, pipeline.Result{})
		elapse(time.Second)
		if slices.Contains(tr.calls, "renew slots") {
			t.Error("a short request was renewed")
		}
		long := &pipeline.Request{}
		p.Acquire(ctx, long)
		elapse(10 * time.Second)
		renewals := 0
		for _, call := range tr.calls {
			if call == "renew slots" {
				renewals++
			}
			if call == "renew rate" {
				t.Error("tokens were renewed")
			}
		}
		if renewals < 10*3 || renewals > 10*4 {
			t.Errorf("renewed %d times in 10s, want every 300ms", renewals)
		}
		p.Release(long, pipeline.Result{})
		before := len(tr.calls)
		elapse(time.Second)
		if len(tr.calls) != before {
			t.Error("a released request is still renewed")
		}
		cancel()
		<-done
	})
}

func TestRunJoinsWhatRunsBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := pipeline.NewPlan()
		if err != nil {
			t.Fatal(err)
		}
		joined := false
		p, err := pipeline.New(pipeline.Config{Plan: plan, Parallel: []func(context.Context) error{func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Second) // a last word to the fleet
			joined = true
			return ctx.Err()
		}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Run(ctx); !errors.Is(err, context.DeadlineExceeded) || !joined {
			t.Errorf("Run ended with %v, joined %v", err, joined)
		}
	})
}

func TestHoldersShowsWhatIsInFlight(t *testing.T) {
	p := build(t, nil, nil)
	requests := make([]*pipeline.Request, 100)
	for i := range requests {
		requests[i] = &pipeline.Request{}
		p.Acquire(t.Context(), requests[i])
	}
	if n := len(p.Holders(1000)); n != 100 || p.InFlight() != 100 {
		t.Errorf("%d holders, %d in flight, want 100", n, p.InFlight())
	}
	if n := len(p.Holders(7)); n != 7 {
		t.Errorf("%d holders, want at most 7", n)
	}
	for i := range requests {
		p.Release(requests[(i*37)%100], pipeline.Result{})
	}
	if p.InFlight() != 0 || len(p.Holders(1000)) != 0 {
		t.Error("released requests are still listed")
	}
}

func TestTheClockNeverStepsBack(t *testing.T) {
	p := build(t, nil, nil)
	last := p.Now()
	for range 1000 {
		now := p.Now()
		if now < last {
			t.Fatalf("went back by %dns", last-now)
		}
		last = now
	}
	if d := time.Since(time.Unix(0, last)).Abs(); d > time.Minute {
		t.Errorf("is %s away from the wall clock", d)
	}
}
