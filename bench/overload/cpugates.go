package overload

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/alibaba/sentinel-golang/api"
	sentinelbase "github.com/alibaba/sentinel-golang/core/base"
	sentinelconfig "github.com/alibaba/sentinel-golang/core/config"
	"github.com/alibaba/sentinel-golang/core/isolation"
	sentinellog "github.com/alibaba/sentinel-golang/logging"
	"github.com/go-kratos/aegis/ratelimit"
	"github.com/go-kratos/aegis/ratelimit/bbr"
	"github.com/zeromicro/go-zero/core/load"
	"github.com/zeromicro/go-zero/core/logx"

	"github.com/plimsoll-go/plimsoll/priority"
)

func aegis() Contestant {
	with := func(options ...bbr.Option) func(*Service) (Shedder, error) {
		return func(*Service) (Shedder, error) { return bbrShedder{bbr.NewLimiter(options...)}, nil }
	}
	return Contestant{"aegis BBR", []Setting{
		{"default", with()},
		{"threshold 500", with(bbr.WithCPUThreshold(500))},
		{"threshold 1", with(bbr.WithCPUThreshold(1))},
	}}
}

type bbrShedder struct{ limiter *bbr.BBR }

func (b bbrShedder) Serve(ctx context.Context, _ Call, work Work) bool {
	done, err := b.limiter.Allow()
	if err != nil {
		return false
	}
	done(ratelimit.DoneInfo{Err: work(ctx)})
	return true
}

func (bbrShedder) Close() {}

func goZero() Contestant {
	// Critical calls have the gate that the library's router gives to routes of
	// priority: in the middle between the threshold and all of the processor.
	with := func(threshold int64) func(*Service) (Shedder, error) {
		return func(*Service) (Shedder, error) {
			const whole = 1000
			logx.Disable()
			load.DisableLog()
			return &zero{
				ordinary: load.NewAdaptiveShedder(load.WithCpuThreshold(threshold)),
				critical: load.NewAdaptiveShedder(load.WithCpuThreshold((threshold + whole) / 2)),
			}, nil
		}
	}
	return Contestant{"go-zero", []Setting{
		{"default", with(900)},
		{"threshold 500", with(500)},
		{"threshold 1", with(1)},
	}}
}

type zero struct{ ordinary, critical load.Shedder }

func (z *zero) Serve(ctx context.Context, c Call, work Work) bool {
	shedder := z.ordinary
	if c.Class == priority.Critical {
		shedder = z.critical
	}
	promise, err := shedder.Allow()
	if err != nil {
		return false
	}
	if work(ctx) != nil {
		promise.Fail()
	} else {
		promise.Pass()
	}
	return true
}

func (*zero) Close() {}

// sentinel is sentinel-golang with a rule on calls in flight, for each class
// one: its rule on the processor cannot be set right.
func sentinel() Contestant {
	shares := func(total int, of [priority.Count]float64) func(*Service) (Shedder, error) {
		return func(*Service) (Shedder, error) { return newSentinel(total, of) }
	}
	equal := [priority.Count]float64{1, 1, 1, 1}
	return Contestant{"sentinel-golang", []Setting{
		{"20 in all", shares(20, equal)},
		{"40 in all", shares(40, equal)},
		{"20, shared 60/20/15/5", shares(20, [priority.Count]float64{0.05, 0.15, 0.2, 0.6})},
		{"40, shared 60/20/15/5", shares(40, [priority.Count]float64{0.05, 0.15, 0.2, 0.6})},
	}}
}

// isolated names the resource of each class: one for all of them, when they
// share a rule.
type isolated [priority.Count]string

func newSentinel(total int, share [priority.Count]float64) (Shedder, error) {
	if err := StartSentinel(); err != nil {
		return nil, err
	}
	var names isolated
	var rules []*isolation.Rule
	for i, of := range share {
		names[i] = "all"
		if of < 1 {
			names[i] = priority.FromIndex(i).String()
		}
		if i == 0 || of < 1 {
			rules = append(rules, &isolation.Rule{Resource: names[i], MetricType: isolation.Concurrency, Threshold: uint32(float64(total)*min(of, 1) + 0.5)})
		}
	}
	if ok, err := isolation.LoadRules(rules); err != nil || !ok {
		return nil, fmt.Errorf("overload: sentinel refused its rules: %w", err)
	}
	return &names, nil
}

// StartSentinel starts what sentinel-golang needs in a process, without its log
// files. It may be called again.
func StartSentinel() error {
	dir, err := os.MkdirTemp("", "overload")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log.SetOutput(os.Stderr)
	settings := sentinelconfig.NewDefaultConfig()
	settings.Sentinel.Log.Dir = dir
	settings.Sentinel.Log.Metric.FlushIntervalSec = 0
	settings.Sentinel.Log.Logger = sentinellog.NewConsoleLogger()
	sentinellog.ResetGlobalLoggerLevel(sentinellog.ErrorLevel)
	return api.InitWithConfig(settings)
}

func (s *isolated) Serve(ctx context.Context, c Call, work Work) bool {
	entry, blocked := api.Entry(s[c.Class.Index()], api.WithTrafficType(sentinelbase.Inbound))
	if blocked != nil {
		return false
	}
	defer entry.Exit()
	if err := work(ctx); err != nil {
		api.TraceError(entry, err)
	}
	return true
}

func (*isolated) Close() {}
