package bench

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// The limits are far above the load: what is measured is the way of a request
// that passes.
const (
	perSecond = 1_000_000_000
	burst     = 1_000_000_000
)

// BenchmarkRate asks for one token of a key's limit.
func BenchmarkRate(b *testing.B) {
	contest(b, []workload{oneKey, thousandKeys, millionKeys}, []contestant{
		{"plimsoll", ourRate},
		{"plimsoll-alone", ourRateAlone},
		{"x-time-rate", timeRate},
		{"failsafe", failsafeRate},
		{"go-limiter", goLimiter},
		{"throttled", throttledRate},
		{"ulule", ululeRate},
		{"httprate", httprateCounter},
	})
}

// each gives one shared function to all goroutines.
func each(do func(int) bool) func() func(int) bool {
	return func() func(int) bool { return do }
}

// perKey is what a service writes around a limiter that knows no keys.
type perKey[T any] struct {
	limiters sync.Map
	make     func() T
}

func (p *perKey[T]) of(key int) T {
	name := names()[key]
	if l, ok := p.limiters.Load(name); ok {
		return l.(T)
	}
	l, _ := p.limiters.LoadOrStore(name, p.make())
	return l.(T)
}

func timeRate(*testing.B) func() func(int) bool {
	p := &perKey[*rate.Limiter]{make: func() *rate.Limiter { return rate.NewLimiter(perSecond, burst) }}
	return each(func(key int) bool { return p.of(key).Allow() })
}

func failsafeRate(*testing.B) func() func(int) bool {
	p := &perKey[ratelimiter.RateLimiter[any]]{make: func() ratelimiter.RateLimiter[any] {
		return ratelimiter.NewBursty[any](burst, time.Second)
	}}
	return each(func(key int) bool { return p.of(key).TryAcquirePermit() })
}

func goLimiter(b *testing.B) func() func(int) bool {
	// The interval is one that does not end meanwhile: at its end this store
	// refills a bucket with what one tick brings, and would refuse.
	s, err := memorystore.New(&memorystore.Config{Tokens: burst, Interval: 24 * time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	return each(func(key int) bool {
		_, _, _, ok, err := s.Take(ctx, names()[key])
		return ok && err == nil
	})
}

func throttledRate(b *testing.B) func() func(int) bool {
	s, err := throttledstore.NewCtx(0) // a map without bound, the faster of its two
	if err != nil {
		b.Fatal(err)
	}
	l, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{MaxRate: throttled.PerDuration(burst, time.Second), MaxBurst: burst / 2})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	return each(func(key int) bool {
		limited, _, err := l.RateLimitCtx(ctx, names()[key], 1)
		return !limited && err == nil
	})
}

func ululeRate(*testing.B) func() func(int) bool {
	l := limiter.New(ululestore.NewStore(), limiter.Rate{Period: time.Hour, Limit: math.MaxInt64})
	ctx := context.Background()
	return each(func(key int) bool {
		c, err := l.Get(ctx, names()[key])
		return err == nil && !c.Reached
	})
}

// httprateCounter does what httprate's middleware does for a request, without
// its headers.
func httprateCounter(*testing.B) func() func(int) bool {
	const window = time.Minute
	c := httprate.NewLocalLimitCounter(window)
	return each(func(key int) bool {
		now := time.Now().UTC()
		current := now.Truncate(window)
		n, previous, err := c.Get(names()[key], current, current.Add(-window))
		if err != nil || float64(n)+float64(previous) > burst {
			return false
		}
		return c.IncrementBy(names()[key], current, 1) == nil
	})
}
