package bench

import (
	"context"
	"testing"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/platinummonkey/go-concurrency-limits/core"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	"github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

// BenchmarkPrice is the price of a refusal (experiment E7): every place is
// taken, and everything is refused. What a refusal costs decides how far any
// shedder holds.
func BenchmarkPrice(b *testing.B) {
	contest(b, []workload{oneKey}, []contestant{
		{"plimsoll", ourPrice},
		{"failsafe-bulkhead", func(*testing.B) func() func(int) bool {
			l := bulkhead.New[any](1)
			l.TryAcquirePermit()
			return each(func(int) bool { return l.TryAcquirePermit() })
		}},
		{"failsafe-adaptive", func(*testing.B) func() func(int) bool {
			l := adaptivelimiter.NewBuilder[any]().WithLimits(1, 1, 1).Build()
			l.TryAcquirePermit()
			return each(func(int) bool {
				_, ok := l.TryAcquirePermit()
				return ok
			})
		}},
		{"go-concurrency-limits", partitionsPrice},
	})
}

// ourPrice is the worker's stage, full, with the pipeline around it, refusing
// the lowest class in the look.
func ourPrice(b *testing.B) func() func(int) bool {
	b.Helper()
	c := workershed.Config{MaxInFlight: 4, QueuePerClass: workershed.NoQueue, Adaptive: workershed.Fixed}
	stage, err := workershed.New(c, workershed.NewState())
	if err != nil {
		b.Fatal(err)
	}
	entries, err := pipeline.NewPlan(pipeline.Entry{Name: "workershed", Stage: stage})
	if err != nil {
		b.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: entries})
	if err != nil {
		b.Fatal(err)
	}
	run(b, p)
	for range c.MaxInFlight {
		if r := (&pipeline.Request{Class: priority.Critical}); p.Acquire(b.Context(), r).Verdict != pipeline.Admit {
			b.Fatal("a place was refused")
		}
	}
	return decide(p, priority.Low)
}

func partitionsPrice(b *testing.B) func() func(int) bool {
	b.Helper()
	none := core.EmptyMetricRegistryInstance
	l, err := limiter.NewDefaultLimiter(limit.NewFixedLimit("bench", 1, none), 1e9, 1e9, 1e5, 100,
		strategy.NewSimpleStrategy(1), limit.NoopLimitLogger{}, none)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	l.Acquire(ctx)
	return each(func(int) bool {
		_, ok := l.Acquire(ctx)
		return ok
	})
}
