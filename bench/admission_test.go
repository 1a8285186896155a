package bench

import (
	"context"
	"testing"

	"github.com/alibaba/sentinel-golang/api"
	sentinelbase "github.com/alibaba/sentinel-golang/core/base"
	sentinelconfig "github.com/alibaba/sentinel-golang/core/config"
	"github.com/alibaba/sentinel-golang/core/flow"
	sentinellog "github.com/alibaba/sentinel-golang/logging"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/go-kratos/aegis/ratelimit"
	"github.com/go-kratos/aegis/ratelimit/bbr"
	"github.com/platinummonkey/go-concurrency-limits/core"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	"github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"
	"github.com/zeromicro/go-zero/core/load"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

// room is more than 64 goroutines can use, so that nothing is refused.
const room = 1000

// BenchmarkAdmission takes and gives back one place of a limit that adapts
// itself to the load. failsafe-bulkhead and sentinel-flow are here although
// they do not adapt: the one as the least that a limit can cost, the other as
// what sentinel's own chain of statistics costs.
func BenchmarkAdmission(b *testing.B) {
	contest(b, []workload{oneKey}, []contestant{
		{"plimsoll", ourAdmission},
		{"failsafe-bulkhead", failsafeBulkhead},
		{"failsafe-adaptive", failsafeAdaptive},
		{"aegis-bbr", aegisBBR},
		{"go-zero", goZero},
		{"go-concurrency-limits-vegas", vegas},
		{"sentinel-flow", sentinelFlow},
	})
}

// ourAdmission is the worker's stage alone, with what the pipeline does around
// it: class, deadline, the list of those in flight.
func ourAdmission(b *testing.B) func() func(int) bool {
	b.Helper()
	stage, err := workershed.New(workershed.Config{MaxInFlight: room}, workershed.NewState())
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
	return decide(p, priority.Critical)
}

func failsafeBulkhead(*testing.B) func() func(int) bool {
	l := bulkhead.New[any](room)
	return each(func(int) bool {
		if !l.TryAcquirePermit() {
			return false
		}
		l.ReleasePermit()
		return true
	})
}

func failsafeAdaptive(*testing.B) func() func(int) bool {
	l := adaptivelimiter.NewBuilder[any]().WithLimits(room, 2*room, room).Build()
	return each(func(int) bool {
		permit, ok := l.TryAcquirePermit()
		if !ok {
			return false
		}
		permit.Record()
		return true
	})
}

// aegis and go-zero refuse only while the processor is busy, which it is
// during a benchmark: a threshold out of reach keeps them admitting.

func aegisBBR(*testing.B) func() func(int) bool {
	l := bbr.NewLimiter(bbr.WithCPUThreshold(1 << 30))
	return each(func(int) bool {
		done, err := l.Allow()
		if err != nil {
			return false
		}
		done(ratelimit.DoneInfo{})
		return true
	})
}

func goZero(*testing.B) func() func(int) bool {
	s := load.NewAdaptiveShedder(load.WithCpuThreshold(1 << 30))
	return each(func(int) bool {
		promise, err := s.Allow()
		if err != nil {
			return false
		}
		promise.Pass()
		return true
	})
}

func vegas(b *testing.B) func() func(int) bool {
	const (
		noRegistry = 100 // samples that the limiter keeps itself
		window     = 1e9 // nanoseconds
		threshold  = 1e5 // nanoseconds below which a sample does not count
	)
	estimate := limit.NewDefaultVegasLimitWithLimit("bench", room, limit.NoopLimitLogger{}, core.EmptyMetricRegistryInstance)
	l, err := limiter.NewDefaultLimiter(estimate, window, window, threshold, noRegistry,
		strategy.NewSimpleStrategy(room), limit.NoopLimitLogger{}, core.EmptyMetricRegistryInstance)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	return each(func(int) bool {
		listener, ok := l.Acquire(ctx)
		if !ok {
			return false
		}
		listener.OnSuccess()
		return true
	})
}

func sentinelFlow(b *testing.B) func() func(int) bool {
	settings := sentinelconfig.NewDefaultConfig()
	settings.Sentinel.Log.Dir = b.TempDir()
	settings.Sentinel.Log.Metric.FlushIntervalSec = 0
	settings.Sentinel.Log.Logger = sentinellog.NewConsoleLogger()
	sentinellog.ResetGlobalLoggerLevel(sentinellog.ErrorLevel)
	if err := api.InitWithConfig(settings); err != nil {
		b.Fatal(err)
	}
	if _, err := flow.LoadRules([]*flow.Rule{{Resource: "bench", Threshold: perSecond, StatIntervalInMs: 1000}}); err != nil {
		b.Fatal(err)
	}
	return each(func(int) bool {
		entry, blocked := api.Entry("bench", api.WithTrafficType(sentinelbase.Inbound))
		if blocked != nil {
			return false
		}
		entry.Exit()
		return true
	})
}
