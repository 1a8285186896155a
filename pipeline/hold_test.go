package pipeline_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// holding makes a pipeline of a sharing entry, whose grants are delayed, and of
// a worker's entry behind it, and runs a test of it in virtual time.
func holding(t *testing.T, mode pipeline.Mode, test func(*testing.T, *pipeline.Pipeline, *counts, *taker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, worker := newCounts(&trace{}), &taker{looker: looker{name: "worker"}}
		c.delays = map[string]time.Duration{"rate": 300 * time.Millisecond, "other": 200 * time.Millisecond}
		plan, err := pipeline.NewPlan(
			pipeline.Entry{Name: "limits", Mode: mode, Stage: &sharer{looker: looker{name: "limits"}, claims: claimOf(tokens(t, "other"), tokens(t, "rate"), slots(t, "slot"))}},
			pipeline.Entry{Name: "worker", Stage: worker},
		)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pipeline.New(pipeline.Config{Plan: plan, Store: store.NewGuard(c, store.GuardConfig{}), MaxHeld: 2})
		if err != nil {
			t.Fatal(err)
		}
		test(t, p, c, worker)
	})
}

// acquired asks in the background.
func acquired(ctx context.Context, p *pipeline.Pipeline, r *pipeline.Request) <-chan pipeline.Decision {
	done := make(chan pipeline.Decision, 1)
	go func() { done <- p.Acquire(ctx, r) }()
	return done
}

func TestADelayedRequestIsHeldAndTakesNothingLocal(t *testing.T) {
	holding(t, pipeline.Enforce, func(t *testing.T, p *pipeline.Pipeline, c *counts, worker *taker) {
		r, start := &pipeline.Request{}, time.Now()
		done := acquired(t.Context(), p, r)
		pass(299 * time.Millisecond)
		synctest.Wait()
		if worker.holding() != 0 || p.InFlight() != 1 || c.out("rate") != 1 {
			t.Errorf("held: %d of the worker, %d in flight, %d tokens", worker.holding(), p.InFlight(), c.out("rate"))
		}
		if d := <-done; d.Verdict != pipeline.Admit || time.Since(start) != 300*time.Millisecond {
			t.Errorf("%+v after %s, want to be admitted after the longer of two delays, 300ms", d, time.Since(start))
		}
		if r.Waits.Delay != int64(300*time.Millisecond) || r.Moment() != r.Now+r.Waits.Delay || worker.holding() != 1 {
			t.Errorf("delayed by %d, moment %d after arrival, %d of the worker", r.Waits.Delay, r.Moment()-r.Now, worker.holding())
		}
		p.Release(r, pipeline.Result{})
		if worker.holding() != 0 || p.InFlight() != 0 || c.out("slot") != 0 {
			t.Error("something is held after the release")
		}
	})
}

func TestADelayedRequestLeavesWithItsContext(t *testing.T) {
	holding(t, pipeline.Enforce, func(t *testing.T, p *pipeline.Pipeline, c *counts, worker *taker) {
		ctx, cancel := context.WithCancel(t.Context())
		r, start := &pipeline.Request{}, time.Now()
		done := acquired(ctx, p, r)
		pass(100 * time.Millisecond)
		cancel()
		d := <-done
		if d.Verdict != pipeline.Abandon || r.Entry(d).Name != "limits" || time.Since(start) != 100*time.Millisecond || r.Waits.Delay != int64(100*time.Millisecond) {
			t.Errorf("%+v after %s, delayed by %d", d, time.Since(start), r.Waits.Delay)
		}
		if c.out("rate") != 0 || c.out("slot") != 0 || p.InFlight() != 0 || worker.holding() != 0 {
			t.Errorf("who left holds %d tokens, %d slots", c.out("rate"), c.out("slot"))
		}
	})
}

// Who would be gone before its turn is refused at once, and charged nothing.
func TestADelayBeyondTheDeadlineIsRefusedAtOnce(t *testing.T) {
	holding(t, pipeline.Enforce, func(t *testing.T, p *pipeline.Pipeline, c *counts, _ *taker) {
		start := time.Now()
		for name, ask := range map[string]func(left time.Duration) (*pipeline.Request, pipeline.Decision){
			"the request's": func(left time.Duration) (*pipeline.Request, pipeline.Decision) {
				r := &pipeline.Request{Deadline: p.Now() + int64(left)}
				return r, p.Acquire(t.Context(), r)
			},
			"the context's": func(left time.Duration) (*pipeline.Request, pipeline.Decision) {
				ctx, cancel := context.WithTimeout(t.Context(), left)
				defer cancel()
				r := &pipeline.Request{}
				return r, p.Acquire(ctx, r)
			},
		} {
			before := time.Now()
			r, d := ask(300*time.Millisecond - 1)
			if d.Verdict != pipeline.Reject || d.Reason != pipeline.RateLimited || r.Detail.Rule != "rate" || r.Detail.RetryAfter != 300*time.Millisecond || time.Since(before) != 0 {
				t.Errorf("%s deadline: %+v %+v", name, d, r.Detail)
			}
			if c.out("rate") != 0 || c.out("slot") != 0 {
				t.Errorf("%s deadline: %d tokens and %d slots were kept", name, c.out("rate"), c.out("slot"))
			}
		}
		if time.Since(start) != 0 {
			t.Error("somebody waited")
		}
		if r := (&pipeline.Request{Deadline: p.Now() + int64(time.Second)}); p.Acquire(t.Context(), r).Verdict != pipeline.Admit {
			t.Error("refused although there is time")
		}
	})
}

func TestHeldRequestsAreBounded(t *testing.T) {
	holding(t, pipeline.Enforce, func(t *testing.T, p *pipeline.Pipeline, c *counts, _ *taker) {
		first, second := acquired(t.Context(), p, &pipeline.Request{}), acquired(t.Context(), p, &pipeline.Request{})
		synctest.Wait()
		if d := p.Acquire(t.Context(), &pipeline.Request{}); d.Reason != pipeline.RateLimited || c.out("rate") != 2 {
			t.Errorf("a third of two: %+v, %d tokens are out", d, c.out("rate"))
		}
		if a, b := <-first, <-second; a.Verdict != pipeline.Admit || b.Verdict != pipeline.Admit {
			t.Errorf("%+v %+v", a, b)
		}
	})
}

func TestNobodyIsHeldByWhatIsInShadow(t *testing.T) {
	holding(t, pipeline.Shadow, func(t *testing.T, p *pipeline.Pipeline, _ *counts, _ *taker) {
		r, start := &pipeline.Request{}, time.Now()
		if d := p.Acquire(t.Context(), r); d.Verdict != pipeline.Admit || time.Since(start) != 0 || r.Waits.Delay != 0 {
			t.Errorf("%+v after %s", d, time.Since(start))
		}
	})
}

// The slots of who is held longer than their lease are renewed.
func TestSlotsAreRenewedWhileTheirRequestIsHeld(t *testing.T) {
	holding(t, pipeline.Enforce, func(t *testing.T, p *pipeline.Pipeline, c *counts, _ *taker) {
		c.delays["rate"] = 5 * time.Second
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		done := acquired(t.Context(), p, &pipeline.Request{})
		pass(4 * time.Second)
		synctest.Wait()
		c.trace.mu.Lock()
		renewed := slices.Contains(c.trace.calls, "renew slot")
		c.trace.mu.Unlock()
		if !renewed {
			t.Error("the slot was not renewed")
		}
		if d := <-done; d.Verdict != pipeline.Admit {
			t.Errorf("%+v", d)
		}
		cancel()
		synctest.Wait()
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }
