package ratelimit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

// delayed is 10/s with a burst of 5, of which so many pass at once.
func delayed(delay int64) ratelimit.Limit {
	return ratelimit.Limit{Name: "nginx", Algorithm: store.LeakyBucket, Rate: limit.Per(10, time.Second), Burst: 5, Delay: delay}
}

// Eight at one instant under NGINX's limit_req: six pass, each after its delay.
func TestTakeReturnsTheDelay(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit ratelimit.Limit
		want  []time.Duration // in milliseconds
	}{
		{"burst=5", delayed(0), []time.Duration{0, 100, 200, 300, 400, 500}},
		{"burst=5 delay=2", delayed(2), []time.Duration{0, 0, 0, 100, 200, 300}},
		{"burst=5 nodelay", ratelimit.Limit{Name: "nginx", Algorithm: store.LeakyBucket, Rate: limit.Per(10, time.Second), Burst: 5, NoDelay: true}, make([]time.Duration, 6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
				for i := range 8 {
					a := take(t, l, "k", 1)
					if i < len(c.want) && (!a.Allowed || a.Delay != c.want[i]*time.Millisecond) || i >= len(c.want) && (a.Allowed || a.Delay != 0 || a.RetryAfter != 100*time.Millisecond) {
						t.Errorf("request %d: %+v", i, a)
					}
				}
			}, c.limit)
		})
	}
}

// The stage holds those eight end to end, and each goes on when it should.
func TestTheStageDelaysEndToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stage, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{delayed(2)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := pipelineOf(t, stage)
		var mu sync.Mutex
		var group sync.WaitGroup
		admitted, refused := map[time.Duration]int{}, 0
		for range 8 {
			group.Go(func() {
				r, start := &pipeline.Request{}, time.Now()
				d := p.Acquire(t.Context(), r)
				mu.Lock()
				defer mu.Unlock()
				if d.Verdict != pipeline.Admit {
					refused++
					return
				}
				admitted[time.Since(start)]++
				p.Release(r, pipeline.Result{})
			})
		}
		group.Wait()
		for after, n := range map[time.Duration]int{0: 3, 100 * time.Millisecond: 1, 200 * time.Millisecond: 1, 300 * time.Millisecond: 1} {
			if admitted[after] != n {
				t.Errorf("%d went on after %s, want %d", admitted[after], after, n)
			}
		}
		if refused != 2 {
			t.Errorf("%d of 8 were refused, want 2", refused)
		}
	})
}

// Who leaves while it is held gives its place in the bucket back.
func TestWhoLeavesDuringItsDelayIsNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stage, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{delayed(0)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := pipelineOf(t, stage)
		p.Release(admitted(t, p), pipeline.Result{})
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan pipeline.Decision, 1)
		go func() { left <- p.Acquire(ctx, &pipeline.Request{}) }()
		synctest.Wait()
		cancel()
		if d := <-left; d.Verdict != pipeline.Abandon {
			t.Fatalf("%+v", d)
		}
		if r := admitted(t, p); r.Waits.Delay != int64(100*time.Millisecond) {
			t.Errorf("the next one was held for %dns, as if the other were still there", r.Waits.Delay)
		}
	})
}

func pipelineOf(t *testing.T, stage *ratelimit.Stage) *pipeline.Pipeline {
	t.Helper()
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "ratelimit", Stage: stage})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Store: store.NewGuard(memory(t), store.GuardConfig{})})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func admitted(t *testing.T, p *pipeline.Pipeline) *pipeline.Request {
	t.Helper()
	r := &pipeline.Request{}
	if d := p.Acquire(t.Context(), r); d.Verdict != pipeline.Admit {
		t.Fatalf("%+v", d)
	}
	return r
}

func TestWaitWaitsForTheDelay(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		start := time.Now()
		for range 4 {
			if err := l.Wait(t.Context(), "k", 1); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 300*time.Millisecond {
			t.Errorf("four at 10/s, none at once: %s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := l.Wait(ctx, "k", 1); !errors.Is(err, ratelimit.ErrTooLong) {
			t.Errorf("a wait beyond its context: %v", err)
		}
		if a := take(t, l, "k", 1); a.Delay != 100*time.Millisecond {
			t.Errorf("who gave up is still in the bucket: %+v", a)
		}
	}, delayed(0))
}

// A quota follows the calendar of its place through the stage: in Berlin the
// day on which summer time ends has 25 hours.
func TestQuotasFollowTheirCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	stage, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{{
		Name: "quota", Rate: limit.Per(2, time.Hour), Calendar: limit.Calendar{Unit: limit.Day, Zone: berlin},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := pipelineOf(t, stage)
	ask := func(hour int) (pipeline.Decision, pipeline.Detail) {
		r := &pipeline.Request{Now: time.Date(2026, 10, 25, 0, 0, 0, 0, berlin).Add(time.Duration(hour) * time.Hour).UnixNano()}
		d := p.Acquire(t.Context(), r)
		return d, r.Detail
	}
	ask(0)
	if d, _ := ask(1); d.Verdict != pipeline.Admit {
		t.Fatalf("%+v", d)
	}
	if d, detail := ask(24); d.Verdict != pipeline.Reject || detail.RetryAfter != time.Hour {
		t.Errorf("in the 25th hour: %+v %+v", d, detail)
	}
	if d, detail := ask(25); d.Verdict != pipeline.Admit || detail.Remaining != 1 {
		t.Errorf("on the next day: %+v %+v", d, detail)
	}
}

func TestLimitsThatMakeNoSense(t *testing.T) {
	day := limit.Calendar{Unit: limit.Day}
	for want, l := range map[string]ratelimit.Limit{
		"cannot be held":     {Name: "a", Algorithm: store.LeakyBucket, Rate: limit.Per(1, time.Second), Burst: 2, Charge: ratelimit.Attempts},
		"is a fixed window":  {Name: "a", Algorithm: store.StrictWindow, Rate: limit.Per(1, time.Second), Calendar: day},
		"0 ≤ delay ≤ burst":  {Name: "a", Algorithm: store.LeakyBucket, Rate: limit.Per(1, time.Second), Burst: 2, Delay: -1},
		"day, week or month": {Name: "a", Rate: limit.Per(1, time.Second), Calendar: limit.Calendar{Unit: 9}},
	} {
		if _, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{l}}, memory(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want something with %q", l, err, want)
		}
	}
}
