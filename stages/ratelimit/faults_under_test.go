package ratelimit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

// Too little is admitted, or a key gets stuck.
func TestFaultsThatAdmitTooLittle(t *testing.T) {
	runFaults(t, []fault{
		{"many at once on one key fail instead of being counted", one(store.TokenBucket, 100_001, time.Hour), func(t *testing.T, l *ratelimit.Limiter) {
			var group sync.WaitGroup
			var n atomic.Int64
			for range 64 {
				group.Go(func() {
					for range 100 {
						if a, err := l.Take(t.Context(), "k", 1); err == nil && a.Allowed {
							n.Add(1)
						}
					}
				})
			}
			group.Wait()
			if n.Load() != 6400 {
				t.Errorf("%d of 6400 admitted, and there are tokens for all", n.Load())
			}
		}},
		{"a refusal by the narrow limit is charged to the broad one", []ratelimit.Limit{
			{Name: "user", Rate: limit.Per(2, 24*time.Hour)}, {Name: "broad", Rate: limit.Per(100, 24*time.Hour), Algorithm: store.FixedWindow},
		}, func(t *testing.T, l *ratelimit.Limiter) {
			allowed(t, l, "k", 5)
			if err := l.SetLimits(ratelimit.Limit{Name: "broad", Rate: limit.Per(100, 24*time.Hour), Algorithm: store.FixedWindow}); err != nil {
				t.Fatal(err)
			}
			if n := left(t, l, "k"); n != 98 {
				t.Errorf("%d left of the broad limit, want 98: two were served", n)
			}
		}},
		{"what was over its limit stays over it, whatever the limit becomes", one(store.TokenBucket, 1, time.Hour), func(t *testing.T, l *ratelimit.Limiter) {
			allowed(t, l, "k", 2)
			if err := l.SetLimits(of(store.TokenBucket, 10, time.Hour)); err != nil {
				t.Fatal(err)
			}
			if a := take(t, l, "k", 1); !a.Allowed || a.Remaining != 8 {
				t.Errorf("raised from 1 to 10 with 1 spent: %+v", a)
			}
		}},
		{"what was over its limit stays over it after a refund", one(store.TokenBucket, 1, time.Hour), func(t *testing.T, l *ratelimit.Limiter) {
			allowed(t, l, "k", 2)
			l.Refund(t.Context(), "k", 1)
			if a := take(t, l, "k", 1); !a.Allowed || a.Remaining != 0 {
				t.Errorf("%+v", a)
			}
		}},
		{"a raised rate is waited for at the old one", []ratelimit.Limit{{Name: "limit", Rate: limit.Per(10, 20*time.Second), Burst: 16}}, func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 16)
			if err := l.SetLimits(ratelimit.Limit{Name: "limit", Rate: limit.Per(1000, 20*time.Second), Burst: 16}); err != nil {
				t.Fatal(err)
			}
			if a := take(t, l, "k", 1); a.Allowed || a.RetryAfter != 20*time.Millisecond {
				t.Errorf("%+v, want a token in 20ms", a)
			}
		}},
		{"a larger bucket that replaces a smaller one does not fill", one(store.TokenBucket, 5, time.Minute), func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 5)
			if err := l.SetLimits(of(store.TokenBucket, 10, time.Minute)); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
			if n := left(t, l, "k"); n != 10 {
				t.Errorf("a minute later: %d left, want 10", n)
			}
		}},
		{"who asks more often than tokens come never gets one", one(store.TokenBucket, 10, 30*time.Second), comesAfter(3 * time.Second)},
		{"the same in NGINX's arithmetic, whose refusals leak nothing away", one(store.LeakyBucket, 10, 30*time.Second), comesAfter(4 * time.Second)}, // at 0.333/s, and asked each second
		{"one in 10 s is none", one(store.SlidingWindow, 1, 10*time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			n := int64(0)
			for range 100 {
				n += allowed(t, l, "k", 1)
				pass(time.Second)
			}
			if n < 5 || n > 10 {
				t.Errorf("%d within 100s", n)
			}
		}},
		{"the last token is refused to who was refused more", one(store.TokenBucket, 5, time.Hour), func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 4)
			for range 3 {
				if take(t, l, "k", 2).Allowed {
					t.Error("2 of 1")
				}
			}
			if a := take(t, l, "k", 1); !a.Allowed {
				t.Errorf("the last token: %+v", a)
			}
		}},
		{"each hit moves the window's end away", one(store.FixedWindow, 10, time.Second), steady(10*time.Second, 10*time.Millisecond, 100, 100)},
		{"a refund after the act restores nothing", []ratelimit.Limit{{Name: "limit", Rate: limit.Per(1, time.Second), Burst: 2}}, func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 1)
			pass(time.Millisecond)
			l.Refund(t.Context(), "k", 1)
			if n := left(t, l, "k"); n != 2 {
				t.Errorf("%d left of 2", n)
			}
		}},
		{"a reset of one key with a wildcard's name resets all", one(store.TokenBucket, 1, time.Hour), func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 1)
			for _, name := range []string{"*", "", "k*", "?"} {
				l.Reset(t.Context(), name)
			}
			if take(t, l, "k", 1).Allowed {
				t.Error("another key's reset was this one's")
			}
		}},
	})
}

// comesAfter drains a key, asks each second, and wants a token at a time.
func comesAfter(want time.Duration) func(*testing.T, *ratelimit.Limiter) {
	return func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 10)
		start := time.Now()
		for !take(t, l, "k", 1).Allowed && time.Since(start) < time.Minute {
			pass(time.Second)
		}
		if got := time.Since(start); got != want {
			t.Errorf("a token after %s, want %s", got, want)
		}
	}
}

// A refused cost leaves what there is: 11 of 10, then 1.
func TestARefusalCostsNothing(t *testing.T) {
	everyAlgorithm(t, 10, time.Hour, func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 9)
		for range 5 {
			for _, cost := range []int64{11, 2} {
				if take(t, l, "k", cost).Allowed {
					t.Errorf("%d of 1 left", cost)
				}
			}
		}
		if a := take(t, l, "k", 1); !a.Allowed {
			t.Errorf("the one that is left: %+v", a)
		}
	})
}

// Ten a minute, asked sixty times a minute for ten minutes: about a hundred
// pass, because what is refused does not count.
func TestWhatIsRefusedDoesNotCount(t *testing.T) {
	everyAlgorithm(t, 10, time.Minute, steady(10*time.Minute, time.Second, 90, 110))
}

// A process that was frozen for long finds everything full when it goes on.
func TestAFrozenProcess(t *testing.T) {
	everyAlgorithm(t, 10, time.Second, func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 10)
		pass(90*24*time.Hour + 123456789)
		if a, err := l.Peek(t.Context(), "k", 10); err != nil || !a.Allowed || a.ResetAfter < 0 || a.RetryAfter != 0 {
			t.Errorf("%+v, %v", a, err)
		}
		if n := left(t, l, "k"); n != 10 {
			t.Errorf("%d left of 10", n)
		}
	})
}

// A refusal is an answer of the store: no fallback gets to see it.
func TestARefusalIsNoFault(t *testing.T) {
	l, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{
		Limits: one(store.TokenBucket, 1, time.Hour), OnFault: pipeline.Local,
	}, store.NewGuard(memory(t), store.GuardConfig{Local: memory(t)}))
	if err != nil {
		t.Fatal(err)
	}
	if n := allowed(t, l, "k", 10); n != 1 {
		t.Errorf("%d admitted, want 1: the others were refused, not undecided", n)
	}
	if a := take(t, l, "k", 1); a.Degraded {
		t.Errorf("%+v", a)
	}
}
