package ratelimit_test

import (
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

// What is told of a limit is wrong: what remains, when to come again, when all
// is as if never used.
func TestFaultsInWhatIsTold(t *testing.T) {
	runFaults(t, []fault{
		{"admitted while another answer said to wait", one(store.TokenBucket, 1, 10*time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			start := time.Now()
			take(t, l, "k", 1)
			for time.Since(start) < 10*time.Second {
				if a := take(t, l, "k", 1); a.Allowed || a.RetryAfter != 10*time.Second-time.Since(start) {
					t.Fatalf("after %s: %+v", time.Since(start), a)
				}
				pass(200 * time.Millisecond)
			}
			if a := take(t, l, "k", 1); !a.Allowed {
				t.Errorf("after 10s: %+v", a)
			}
		}},
		{"the reset of a fast rate is now", one(store.TokenBucket, 2000, time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 2000)
			if a := take(t, l, "k", 1); a.Allowed || a.RetryAfter != 500*time.Microsecond || a.ResetAfter != time.Second {
				t.Errorf("%+v, want one in 500µs and all in 1s", a)
			}
		}},
		{"rates faster than one a second cannot be read", one(store.TokenBucket, 8000, time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			for want := int64(7999); want > 7900; want-- {
				if a := take(t, l, "k", 1); a.Remaining != want {
					t.Fatalf("%+v, want %d left", a, want)
				}
			}
		}},
		{"three in a row leave the same", one(store.TokenBucket, 1000, time.Minute), func(t *testing.T, l *ratelimit.Limiter) {
			for want := int64(999); want >= 997; want-- {
				if a := take(t, l, "k", 1); a.Remaining != want || a.ResetAfter <= 0 {
					t.Errorf("%+v, want %d left", a, want)
				}
			}
		}},
		{"on the 31st a month's reset is a second away", []ratelimit.Limit{quota(t, 1, limit.Month, "UTC")}, func(t *testing.T, l *ratelimit.Limiter) {
			until(date(2000, 1, 31, 0))
			if a := take(t, l, "k", 1); a.ResetAfter != 24*time.Hour {
				t.Errorf("%+v, want a reset in a day", a)
			}
			if a := take(t, l, "k", 1); a.RetryAfter != 24*time.Hour {
				t.Errorf("%+v, want another try in a day", a)
			}
		}},
		{"a window's reset counts from the first hit", one(store.FixedWindow, 5, time.Minute), func(t *testing.T, l *ratelimit.Limiter) {
			pass(59 * time.Second)
			if a := take(t, l, "k", 1); a.ResetAfter != time.Second {
				t.Errorf("%+v, want a reset in 1s", a)
			}
		}},
		{"a cost above the burst of an idle key moves its reset", one(store.TokenBucket, 10, time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 5)
			pass(time.Hour)
			if a := take(t, l, "k", 11); a.Allowed || a.ResetAfter != 0 || a.Remaining != 10 {
				t.Errorf("%+v", a)
			}
		}},
		{"a refund of an unknown key is a debt of the limiter", one(store.TokenBucket, 10, time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			l.Refund(t.Context(), "k", 5)
			if n := left(t, l, "k"); n != 10 {
				t.Errorf("%d left of 10", n)
			}
		}},
		{"a period below a second never ends", one(store.FixedWindow, 10, 100*time.Millisecond), func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 10)
			pass(100 * time.Millisecond)
			if a := take(t, l, "k", 10); !a.Allowed || a.ResetAfter != 100*time.Millisecond {
				t.Errorf("%+v", a)
			}
		}},
	})
}

func TestACostAboveTheLimitIsNeverPayable(t *testing.T) {
	everyAlgorithm(t, 10, time.Hour, func(t *testing.T, l *ratelimit.Limiter) {
		for _, spent := range []int64{0, 4, 10} {
			l.Reset(t.Context(), "k")
			take(t, l, "k", spent)
			if a := take(t, l, "k", 11); a.Allowed || a.RetryAfter != store.Never || a.Remaining != 10-spent {
				t.Errorf("11 of 10, %d spent: %+v", spent, a)
			}
		}
	})
}

// What remains is the limit less what was taken, to the token, for every limit.
func TestWhatRemainsIsExact(t *testing.T) {
	limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
		for count := int64(3); count <= 1000; count += 7 {
			if err := l.SetLimits(of(store.TokenBucket, count, time.Hour)); err != nil {
				t.Fatal(err)
			}
			key := limit.Per(count, time.Hour).String()
			for want := count - 1; want >= max(0, count-309); want-- {
				if a := take(t, l, key, 1); a.Remaining != want {
					t.Fatalf("%d/h: %+v, want %d left", count, a, want)
				}
			}
		}
	}, of(store.TokenBucket, 1, time.Hour))
}

// Nothing that is told is ever negative, and who was idle has everything.
func TestWhatIsToldIsNeverNegative(t *testing.T) {
	everyAlgorithm(t, 10, time.Second, func(t *testing.T, l *ratelimit.Limiter) {
		for i := range 500 {
			a := take(t, l, "k", int64(i%13))
			if a.Remaining < 0 || a.Remaining > 10 || a.ResetAfter < 0 || a.RetryAfter < 0 && a.RetryAfter != store.Never || a.Allowed && a.RetryAfter != 0 {
				t.Fatalf("call %d: %+v", i, a)
			}
			pass(time.Duration(i*i%211) * time.Millisecond)
		}
		pass(2 * time.Second)
		if n := left(t, l, "k"); n != 10 {
			t.Errorf("idle for two periods: %d left of 10", n)
		}
	})
}
