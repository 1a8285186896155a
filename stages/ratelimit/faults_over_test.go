package ratelimit_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// Too much is admitted.
func TestFaultsThatAdmitTooMuch(t *testing.T) {
	runFaults(t, []fault{
		{"a cost whose time passes 2^63 ns is admitted and erases the debt", one(store.TokenBucket, 1, 24*time.Hour), func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 1)
			for _, cost := range []int64{106_752, math.MaxInt64, math.MaxInt64 / 86_400, 1 << 62} {
				if a := take(t, l, "k", cost); a.Allowed || a.RetryAfter != store.Never || a.ResetAfter != 24*time.Hour {
					t.Errorf("cost %d: %+v", cost, a)
				}
			}
			if a := take(t, l, "k", 1); a.Allowed || a.RetryAfter != 24*time.Hour {
				t.Errorf("the debt was erased: %+v", a)
			}
		}},
		{"a period below a second is no period", one(store.TokenBucket, 1, 500*time.Millisecond), func(t *testing.T, l *ratelimit.Limiter) {
			if n := allowed(t, l, "k", 20); n != 1 {
				t.Errorf("%d of 20 at once, want 1", n)
			}
		}},
		{"the state ends with the first hit's window, and is full again", one(store.LeakyBucket, 3, time.Second), steady(10*time.Second, 100*time.Millisecond, 30, 33)},
		{"the same of a token bucket", one(store.TokenBucket, 3, time.Second), steady(10*time.Second, 100*time.Millisecond, 30, 33)},
		{"the same of a strict window", one(store.StrictWindow, 3, time.Second), steady(10*time.Second, 100*time.Millisecond, 24, 30)},
		{"700,000,000/s passes one each nanosecond", []ratelimit.Limit{{Name: "limit", Rate: limit.Per(700_000_000, time.Second), Burst: 2}}, steady(1000, 1, 700, 702)},
		{"limits of two periods in one store share a state", []ratelimit.Limit{
			{Name: "second", Rate: limit.Per(30, time.Second)}, {Name: "hour", Rate: limit.Per(30, time.Hour)},
		}, func(t *testing.T, l *ratelimit.Limiter) {
			for want := int64(29); want >= 25; want-- {
				if a := take(t, l, "k", 1); a.Remaining != want || a.Limit != "hour" && want < 29 {
					t.Errorf("%+v, want %d left of the hour", a, want)
				}
				pass(time.Second)
			}
		}},
		{"a quota of the calendar is full again within milliseconds", []ratelimit.Limit{quota(t, 3, limit.Day, "UTC")}, func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 3)
			for range 1000 {
				pass(time.Millisecond)
				if take(t, l, "k", 1).Allowed {
					t.Fatal("admitted a second time")
				}
			}
		}},
		{"what is above a boundary counts for nothing below it, in a sliding window", one(store.SlidingWindow, 100, time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			pass(time.Second - 1)
			take(t, l, "k", 100)
			pass(1 + 500*time.Millisecond)
			if n := left(t, l, "k"); n != 50 {
				t.Errorf("half a window after 100 of 100: %d left, want 50", n)
			}
			pass(490 * time.Millisecond)
			if n := left(t, l, "k"); n != 99 {
				t.Errorf("99 %% of a window after them: %d left, want 99: they count for two windows", n)
			}
			pass(10 * time.Millisecond)
			if n := left(t, l, "k"); n != 100 {
				t.Errorf("two windows after them: %d left", n)
			}
		}},
		{"a new timer for every count: after the first interval all pass", one(store.FixedWindow, 60, time.Second), func(t *testing.T, l *ratelimit.Limiter) {
			for i := range 5 {
				if n := allowed(t, l, "k", 92); n != 60 {
					t.Errorf("interval %d: %d of 92, want 60", i, n)
				}
				pass(time.Second)
			}
		}},
		{"a count above 2^31 is taken for nothing", one(store.FixedWindow, 5_000_000_000, time.Hour), func(t *testing.T, l *ratelimit.Limiter) {
			if a := take(t, l, "k", 3_000_000_000); !a.Allowed || a.Remaining != 2_000_000_000 {
				t.Errorf("%+v", a)
			}
			if a := take(t, l, "k", 3_000_000_000); a.Allowed {
				t.Errorf("%+v", a)
			}
		}},
	})
}

// Around a window's edge, the window that promises no more than twice its limit
// keeps that, and those that promise the limit keep that.
func TestAroundAnEdge(t *testing.T) {
	for a, most := range map[store.Algorithm]int64{
		store.FixedWindow: 20, store.TokenBucket: 20, store.SlidingWindow: 20, store.LeakyBucket: 20, store.SlidingLog: 10, store.StrictWindow: 10,
	} {
		t.Run(a.String(), func(t *testing.T) {
			limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
				pass(time.Second - 1)
				n := allowed(t, l, "k", 30)
				pass(1)
				n += allowed(t, l, "k", 30)
				for range 99 {
					pass(10 * time.Millisecond)
					n += allowed(t, l, "k", 30)
				}
				if n < 10 || n > most {
					t.Errorf("%d of a limit of 10 within a second, want at most %d", n, most)
				}
			}, of(a, 10, time.Second))
		})
	}
}

func TestAHundredAskersGetTheLastToken(t *testing.T) {
	everyAlgorithm(t, 10, time.Hour, func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 9)
		var group sync.WaitGroup
		var n atomic.Int64
		for range 100 {
			group.Go(func() {
				if a, err := l.Take(t.Context(), "k", 1); err == nil && a.Allowed {
					n.Add(1)
				}
			})
		}
		group.Wait()
		if n.Load() != 1 {
			t.Errorf("%d of 100 got the last token", n.Load())
		}
	})
}

func TestNegativeCostsFillNothing(t *testing.T) {
	everyAlgorithm(t, 10, time.Hour, func(t *testing.T, l *ratelimit.Limiter) {
		for _, cost := range []int64{-1, -100, math.MinInt64} {
			if a := take(t, l, "new", cost); a.Allowed || a.RetryAfter != store.Never {
				t.Errorf("cost %d: %+v", cost, a)
			}
			if n := left(t, l, "new"); n != 10 {
				t.Errorf("after a cost of %d on a new key: %d left of 10", cost, n)
			}
			take(t, l, "drained", 10)
			take(t, l, "drained", cost)
			if n := left(t, l, "drained"); n != 0 {
				t.Errorf("after a cost of %d on a drained key: %d left", cost, n)
			}
		}
	})
}

// A month's quota that was spent on its 1st is spent on its 31st, and in a leap
// year on the 29th of February.
func TestAQuotaLastsUntilTheCalendarSaysSo(t *testing.T) {
	for _, c := range []struct{ spent, last, next time.Time }{
		{date(2026, 1, 1, 0), date(2026, 1, 31, 23), date(2026, 2, 1, 0)},
		{date(2026, 2, 1, 0), date(2026, 2, 28, 23), date(2026, 3, 1, 0)},
		{date(2028, 2, 1, 0), date(2028, 2, 29, 23), date(2028, 3, 1, 0)},
		{date(2100, 2, 1, 0), date(2100, 2, 28, 23), date(2100, 3, 1, 0)},
		{date(2026, 4, 30, 23), date(2026, 4, 30, 23), date(2026, 5, 1, 0)},
	} {
		on(t, c.spent, func(t *testing.T, l *ratelimit.Limiter) {
			take(t, l, "k", 3)
			until(c.last)
			if a := take(t, l, "k", 1); a.Allowed || a.RetryAfter != time.Hour {
				t.Errorf("spent on %s, in the last hour of the month: %+v", c.spent, a)
			}
			until(c.next.Add(-1))
			if take(t, l, "k", 1).Allowed {
				t.Errorf("spent on %s, a nanosecond before %s: admitted", c.spent, c.next)
			}
			until(c.next)
			if a := take(t, l, "k", 1); !a.Allowed || a.Remaining != 2 {
				t.Errorf("on %s: %+v", c.next, a)
			}
		}, quota(t, 3, limit.Month, "UTC"))
	}
}

func date(year int, month time.Month, day, hour int) time.Time {
	return time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
}

// Stamps that go back by seconds refill nothing: four at 10s, one at 5s, five
// at 10s again, of a burst of 5 at 1/s.
func TestAStampOfThePastMovesNothingBack(t *testing.T) {
	m := memory(t)
	l, err := store.NewTokens("limit", store.TokenBucket, limit.Per(1, time.Second), 5)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ask := func(second int64) {
		g, err := store.ClaimOne(t.Context(), m, store.Claim{Owner: store.KeyOf("k"), Limit: l, Cost: 1}, 1e18+second*1e9)
		if err != nil {
			t.Fatal(err)
		}
		if g.OK {
			n++
		}
	}
	for range 4 {
		ask(10)
	}
	ask(5)
	for range 5 {
		ask(10)
	}
	if n > 5 {
		t.Errorf("%d admitted, and no time has passed", n)
	}
}

// A key in use is not forgotten when the clock falls back before its first use,
// however many others come.
func TestAKeyInUseOutlivesAClockThatFallsBack(t *testing.T) {
	m, err := memstore.New(memstore.Config{MaxKeys: 64})
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.NewTokens("limit", store.TokenBucket, limit.Per(5, time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(owner string, cost, now int64) store.Grant {
		g, err := store.ClaimOne(t.Context(), m, store.Claim{Owner: store.KeyOf(owner), Limit: l, Cost: cost}, now)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	ask("k", 5, 1e18)
	for i := range 1000 {
		ask(string(rune('a'+i)), 1, 1e18-int64(30*time.Minute))
	}
	if g := ask("k", 1, 1e18-int64(30*time.Minute)); g.OK {
		t.Errorf("a drained key is full after the clock fell back: %+v", g)
	}
}

// steady asks for 1 at every step of a time, and wants so many to pass.
func steady(span, step time.Duration, least, most int64) func(*testing.T, *ratelimit.Limiter) {
	return func(t *testing.T, l *ratelimit.Limiter) {
		n := int64(0)
		for range span / step {
			n += allowed(t, l, "k", 1)
			pass(step)
		}
		if n < least || n > most {
			t.Errorf("%d within %s, want %d to %d", n, span, least, most)
		}
	}
}
