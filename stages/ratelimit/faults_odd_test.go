package ratelimit_test

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

// Limits that cannot be are said to be, and nothing divides by them.
func TestOddLimitsAreErrors(t *testing.T) {
	for name, l := range map[string]ratelimit.Limit{
		"a period of 0":                     {Name: "limit", Rate: limit.Per(5, 0)},
		"a negative period":                 {Name: "limit", Rate: limit.Per(5, -time.Second)},
		"a negative count":                  {Name: "limit", Rate: limit.Per(-5, time.Second)},
		"a negative burst":                  {Name: "limit", Rate: limit.Per(5, time.Second), Burst: -1},
		"more than a bucket can count":      {Name: "limit", Rate: limit.Per(1, 400*24*time.Hour), Burst: math.MaxInt64},
		"more than a log remembers":         {Name: "limit", Rate: limit.Per(1001, time.Second), Algorithm: store.SlidingLog},
		"slower than NGINX counts":          {Name: "limit", Rate: limit.Per(1, time.Hour), Algorithm: store.LeakyBucket},
		"an algorithm that there is not":    {Name: "limit", Rate: limit.Per(1, time.Hour), Algorithm: 99},
		"a part of a calendar there is not": {Name: "limit", Rate: limit.Per(1, time.Hour), Calendar: limit.Calendar{Unit: 99}},
	} {
		for a := store.TokenBucket; a <= store.LeakyBucket; a++ {
			if l.Algorithm = max(l.Algorithm, a); l.Burst != 0 && l.Algorithm != store.TokenBucket {
				continue
			}
			if l.Algorithm == store.StrictWindow && name == "more than a log remembers" || l.Algorithm > store.LeakyBucket && a > 0 {
				break
			}
			if _, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{Limits: []ratelimit.Limit{l}}, store.NewGuard(memory(t), store.GuardConfig{})); err == nil {
				t.Errorf("%s: %s was taken", name, l.Algorithm)
			}
		}
	}
}

// One a year: the second comes a year after the first, to the nanosecond.
func TestOneAYear(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for a := range store.LeakyBucket { // NGINX has no rate so slow
		limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
			start := time.Now()
			take(t, l, "k", 1)
			for refused := take(t, l, "k", 1); !refused.Allowed; refused = take(t, l, "k", 1) {
				pass(refused.RetryAfter - 1)
				if take(t, l, "k", 1).Allowed {
					t.Errorf("%s: admitted after %s, a nanosecond before it said", a, time.Since(start))
				}
				pass(1)
			}
			if d := time.Since(start); d < year-time.Duration(start.UnixNano())%year || d > 2*year {
				t.Errorf("%s: another one after %s", a, d)
			}
		}, of(a, 1, year))
	}
}

// The fastest rate that there is admits no more than its burst at one instant.
func TestRatesFasterThanTheClock(t *testing.T) {
	for _, count := range []int64{1e9, 1e12, math.MaxInt64} {
		limiting(t, func(t *testing.T, l *ratelimit.Limiter) {
			if n := allowed(t, l, "k", 100); n != 7 {
				t.Errorf("%d/s: %d of a burst of 7 at one instant", count, n)
			}
			pass(7)
			if n := left(t, l, "k"); n != 7 {
				t.Errorf("%d/s: %d left after 7ns", count, n)
			}
		}, ratelimit.Limit{Name: "limit", Rate: limit.Per(count, time.Second), Burst: 7})
	}
}

// Refunds twice, late and too large mint nothing, under any algorithm.
func TestOddRefunds(t *testing.T) {
	everyAlgorithm(t, 10, time.Second, func(t *testing.T, l *ratelimit.Limiter) {
		take(t, l, "k", 6)
		l.Refund(t.Context(), "k", 3)
		if n := left(t, l, "k"); n != 7 {
			t.Errorf("3 of 6 came back: %d left of 10", n)
		}
		l.Refund(t.Context(), "k", 3)
		l.Refund(t.Context(), "k", 3)
		l.Refund(t.Context(), "k", math.MaxInt64)
		if n := left(t, l, "k"); n != 10 {
			t.Errorf("more came back than was taken: %d left of 10", n)
		}
		take(t, l, "k", 10)
		pass(3 * time.Second)
		l.Refund(t.Context(), "k", 10)
		if n := allowed(t, l, "k", 30); n != 10 {
			t.Errorf("after a refund of what had refilled %d pass at once, want 10", n)
		}
	})
}

// The clock steps an hour back and forth: never more than the limit at once,
// and nobody waits longer than for a refill. As in NGINX, a leaky bucket waits
// until the clock is where it was; the clock of a pipeline never steps.
func TestClockStepsBothWays(t *testing.T) {
	for a := store.TokenBucket; a <= store.LeakyBucket; a++ {
		t.Run(a.String(), func(t *testing.T) {
			m := memory(t)
			l, err := store.NewTokens("limit", a, limit.Per(10, time.Minute), 9)
			if err != nil {
				t.Fatal(err)
			}
			now := date(2026, 3, 29, 1).UnixNano()
			ask := func() store.Grant {
				g, err := store.ClaimOne(t.Context(), m, store.Claim{Owner: store.KeyOf("k"), Limit: l, Cost: 1}, now)
				if err != nil {
					t.Fatal(err)
				}
				return g
			}
			for step, by := range []time.Duration{0, -time.Hour, 2 * time.Hour, -time.Hour, time.Hour, -2 * time.Hour, 3 * time.Hour} {
				now += int64(by)
				n := 0
				for range 100 {
					g := ask()
					if g.OK {
						n++
					} else if g.RetryAfter > 2*time.Minute+2*time.Second && a != store.LeakyBucket {
						t.Fatalf("step %d by %s: %+v", step, by, g)
					}
				}
				if n > 10 {
					t.Errorf("step %d by %s: %d at once", step, by, n)
				}
				if by < 0 && a != store.LeakyBucket && n > 0 { // NGINX leaks a millisecond's worth
					t.Errorf("step %d by %s minted %d", step, by, n)
				}
			}
		})
	}
}
