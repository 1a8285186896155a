package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

func memory(t testing.TB) *memstore.Store {
	t.Helper()
	m, err := memstore.New(memstore.Config{MaxKeys: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func limiter(t testing.TB, limits ...ratelimit.Limit) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{Limits: limits, MaxWaiters: 3}, store.NewGuard(memory(t), store.GuardConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// limiting runs a test of a limiter in virtual time.
func limiting(t *testing.T, test func(*testing.T, *ratelimit.Limiter), limits ...ratelimit.Limit) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, limiter(t, limits...)) })
}

func take(t testing.TB, l *ratelimit.Limiter, key string, cost int64) ratelimit.Answer {
	t.Helper()
	a, err := l.Take(t.Context(), key, cost)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestLimiterTakesAndTellsWhen(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		if a := take(t, l, "k", 3); !a.Allowed || a.Remaining != 2 || a.Limit != "api" || a.ResetAfter != 300*time.Millisecond {
			t.Errorf("got %+v", a)
		}
		if a := take(t, l, "k", 4); a.Allowed || a.RetryAfter != 200*time.Millisecond || a.Remaining != 2 {
			t.Errorf("got %+v", a)
		}
		if a := take(t, l, "other", 5); !a.Allowed {
			t.Errorf("another key: got %+v", a)
		}
		if a := take(t, l, "k", 6); a.Allowed || a.RetryAfter != store.Never {
			t.Errorf("more than a burst: got %+v", a)
		}
		if a := take(t, l, "k", -1); a.Allowed || a.RetryAfter != store.Never {
			t.Errorf("a negative cost: got %+v", a)
		}
		<-time.After(200*time.Millisecond - 1)
		if a := take(t, l, "k", 4); a.Allowed {
			t.Errorf("a nanosecond early: got %+v", a)
		}
		<-time.After(1)
		if a := take(t, l, "k", 4); !a.Allowed {
			t.Errorf("in time: got %+v", a)
		}
	}, ratelimit.Limit{Name: "api", Rate: limit.Per(10, time.Second), Burst: 5})
}

func TestLimiterIsAllOrNone(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		for range 3 {
			take(t, l, "k", 1)
		}
		for range 100 {
			if a := take(t, l, "k", 1); a.Allowed || a.Limit != "hour" || a.RetryAfter <= time.Minute {
				t.Fatalf("got %+v, want the longer wait of the two", a)
			}
		}
		<-time.After(20 * time.Minute)
		if a := take(t, l, "k", 1); !a.Allowed {
			t.Errorf("refusals were charged to a limit that passed: %+v", a)
		}
	}, ratelimit.Limit{Name: "minute", Rate: limit.Per(3, time.Minute)}, ratelimit.Limit{Name: "hour", Rate: limit.Per(3, time.Hour)})
}

func TestPeekTakesNothing(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		for range 10 {
			if a, err := l.Peek(t.Context(), "k", 5); err != nil || !a.Allowed {
				t.Fatalf("got %+v, %v", a, err)
			}
		}
		if a := take(t, l, "k", 5); !a.Allowed {
			t.Errorf("a peek was charged: %+v", a)
		}
		if a, _ := l.Peek(t.Context(), "k", 1); a.Allowed || a.RetryAfter != 100*time.Millisecond {
			t.Errorf("got %+v", a)
		}
	}, ratelimit.Limit{Name: "api", Rate: limit.Per(10, time.Second), Burst: 5})
}

func TestRefundChargeAndReset(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		ctx := t.Context()
		left := func() int64 {
			a, err := l.Peek(ctx, "k", 0)
			if err != nil {
				t.Fatal(err)
			}
			return a.Remaining
		}
		take(t, l, "k", 5)
		l.Refund(ctx, "k", 2)
		if n := left(); n != 2 {
			t.Errorf("after a refund of 2 of 5: %d are left", n)
		}
		l.Refund(ctx, "k", 1000)
		if n := left(); n != 5 {
			t.Errorf("after a refund too large: %d are left", n)
		}
		l.Refund(ctx, "k", -3)
		l.Charge(ctx, "k", -3)
		if n := left(); n != 5 {
			t.Errorf("negative refunds and charges: %d are left", n)
		}
		l.Charge(ctx, "k", 4)
		if n := left(); n != 1 {
			t.Errorf("after a charge of 4: %d are left", n)
		}
		l.Charge(ctx, "k", 1000)
		if a := take(t, l, "k", 1); a.Allowed || a.RetryAfter > 5100*time.Millisecond {
			t.Errorf("a charge too large owes more than eleven bursts: %+v", a)
		}
		l.Reset(ctx, "k")
		if n := left(); n != 5 {
			t.Errorf("after a reset: %d are left", n)
		}
	}, ratelimit.Limit{Name: "api", Rate: limit.Per(10, time.Second), Burst: 5})
}

func TestLimitsChangedWhileInUse(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 10)
		if err := l.SetLimits(ratelimit.Limit{Name: "api", Rate: limit.Per(100, time.Second), Burst: 100}); err != nil {
			t.Fatal(err)
		}
		if a := take(t, l, "k", 90); !a.Allowed || a.Remaining != 0 {
			t.Errorf("raised from 10 to 100 with 10 spent: %+v", a)
		}
		if err := l.SetLimits(ratelimit.Limit{Name: "api", Rate: limit.Per(1, time.Second), Burst: 1}); err != nil {
			t.Fatal(err)
		}
		if a := take(t, l, "k", 1); a.Allowed || a.RetryAfter > time.Second {
			t.Errorf("lowered to 1: %+v", a)
		}
		for _, bad := range [][]ratelimit.Limit{
			nil,
			{{Name: "a", Rate: limit.Per(0, time.Second)}},
			{{Name: "", Rate: limit.Per(1, time.Second)}},
			{{Name: "a", Rate: limit.Per(1, time.Second)}, {Name: "a", Rate: limit.Per(1, time.Second)}},
		} {
			if err := l.SetLimits(bad...); err == nil {
				t.Errorf("%+v was taken", bad)
			}
		}
	}, ratelimit.Limit{Name: "api", Rate: limit.Per(10, time.Second), Burst: 10})
}

func TestTakeMany(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		answers, err := l.TakeMany(t.Context(), []ratelimit.Want{{"a", 1}, {"b", 9}, {"a", 5}, {"a", 4}})
		if err != nil {
			t.Fatal(err)
		}
		var allowed []bool
		for _, a := range answers {
			allowed = append(allowed, a.Allowed)
		}
		if want := []bool{true, false, false, true}; !slices.Equal(allowed, want) {
			t.Errorf("allowed %v, want %v", allowed, want)
		}
	}, ratelimit.Limit{Name: "api", Rate: limit.Per(10, time.Second), Burst: 5})
}

func TestWaitServesInOrderOfArrival(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		var mu sync.Mutex
		var order []string
		var group sync.WaitGroup
		for i := range 5 { // the first passes, the second is at the front, three stand behind it
			group.Go(func() {
				if err := l.Wait(t.Context(), "k", 1); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprint(i))
			})
			synctest.Wait()
		}
		if err := l.Wait(t.Context(), "k", 1); !errors.Is(err, ratelimit.ErrWaiters) {
			t.Errorf("one more stands in a line of three: %v", err)
		}
		start := time.Now()
		group.Wait()
		if got := strings.Join(order, " "); got != "0 1 2 3 4" {
			t.Errorf("served %s", got)
		}
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("four waits at 1/s took %s", d)
		}
	}, ratelimit.Limit{Name: "quota", Rate: limit.Per(1, time.Second), Burst: 1})
}

func TestWaitGivesUpAtOnceWhenItWouldBeTooLong(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 1)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 999*time.Millisecond)
		defer cancel()
		if err := l.Wait(ctx, "k", 1); !errors.Is(err, ratelimit.ErrTooLong) {
			t.Errorf("got %v", err)
		}
		if err := l.Wait(t.Context(), "k", 2); !errors.Is(err, ratelimit.ErrTooLong) {
			t.Errorf("a cost above the burst: got %v", err)
		}
		if time.Since(start) != 0 {
			t.Error("waited for nothing")
		}
	}, ratelimit.Limit{Name: "quota", Rate: limit.Per(1, time.Second), Burst: 1})
}

func TestAWaiterThatLeavesFreesItsPlace(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 1)
		first := make(chan error, 1)
		go func() { first <- l.Wait(t.Context(), "k", 1) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() { second <- l.Wait(ctx, "k", 1) }()
		synctest.Wait()
		third := make(chan error, 1)
		go func() { third <- l.Wait(t.Context(), "k", 1) }()
		synctest.Wait()
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that left got %v", err)
		}
		start := time.Now()
		if err := errors.Join(<-first, <-third); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("the two that stayed took %s, want 2s", d)
		}
	}, ratelimit.Limit{Name: "quota", Rate: limit.Per(1, time.Second), Burst: 1})
}

// absent is a store that cannot be asked.
type absent struct{ store.Driver }

var errAbsent = errors.New("planted store fault")

func (absent) Claim(context.Context, *store.Batch) error { return errAbsent }
func (absent) InProcess()                                {}

func TestLimiterWithoutItsStore(t *testing.T) {
	for policy, want := range map[pipeline.FaultPolicy]struct {
		allowed int
		err     error
	}{
		pipeline.Open:   {10, nil},
		pipeline.Local:  {3, nil},
		pipeline.Closed: {0, errAbsent},
	} {
		t.Run(policy.String(), func(t *testing.T) {
			g := store.NewGuard(absent{}, store.GuardConfig{Local: memory(t)})
			l, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{
				Limits: []ratelimit.Limit{{Name: "api", Rate: limit.Per(3, time.Hour)}}, OnFault: policy,
			}, g)
			if err != nil {
				t.Fatal(err)
			}
			allowed := 0
			for range 10 {
				a, err := l.Take(t.Context(), "k", 1)
				if !errors.Is(err, want.err) || !a.Degraded {
					t.Fatalf("got %+v, %v", a, err)
				}
				if a.Allowed {
					allowed++
				}
			}
			if allowed != want.allowed {
				t.Errorf("%d of 10 were allowed, want %d", allowed, want.allowed)
			}
		})
	}
}

// What only a request can meet is refused, instead of passed over.
func TestALimiterHasNoRequests(t *testing.T) {
	for what, spoil := range map[string]func(*ratelimit.Limit){
		"match":     func(l *ratelimit.Limit) { l.Match.Path = "/x" },
		"method":    func(l *ratelimit.Limit) { l.Match.Methods = []string{"GET"} },
		"classes":   func(l *ratelimit.Limit) { l.Classes = []priority.Class{priority.Low} },
		"key":       func(l *ratelimit.Limit) { l.Key = owner(t, "caller") },
		"cost":      func(l *ratelimit.Limit) { l.Cost.Tokens = 2 },
		"overrides": func(l *ratelimit.Limit) { l.Overrides = map[string]ratelimit.Override{"k": {Unlimited: true}} },
		"unlimited": func(l *ratelimit.Limit) { l.Unlimited = true },
		"charge":    func(l *ratelimit.Limit) { l.Charge = ratelimit.Attempts },
	} {
		l := ratelimit.Limit{Name: "x", Rate: limit.Per(2, time.Hour)}
		spoil(&l)
		g := store.NewGuard(memory(t), store.GuardConfig{})
		if _, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{Limits: []ratelimit.Limit{l}}, g); err == nil || !strings.Contains(err.Error(), "has no requests") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if _, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{MaxWaiters: -1}, store.NewGuard(memory(t), store.GuardConfig{})); err == nil {
		t.Error("a line of -1 places")
	}
}
