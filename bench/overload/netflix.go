package overload

import (
	"context"
	"time"

	"github.com/platinummonkey/go-concurrency-limits/core"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	"github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"

	"github.com/plimsoll-go/plimsoll/priority"
)

// gradient2 is the Go port of Netflix's limits, with its partitions.
func gradient2() Contestant {
	even := [priority.Count]float64{0.25, 0.25, 0.25, 0.25}
	steep := [priority.Count]float64{0.05, 0.15, 0.2, 0.6}
	return Contestant{"go-concurrency-limits", []Setting{
		{"default, even partitions", netflix(even, 20, 200)},
		{"partitions 60/20/15/5", netflix(steep, 20, 200)},
		{"60/20/15/5, limits 4 to 40", netflix(steep, 4, 40)},
		{"60/20/15/5, limits 20 to 40", netflix(steep, 20, 40)},
	}}
}

func netflix(share [priority.Count]float64, lowest, highest int) func(*Service) (Shedder, error) {
	return func(*Service) (Shedder, error) {
		const (
			first     = 20
			smoothing = 0.2
			window    = 600
			threshold = int64(100 * time.Microsecond)
			samples   = 100
		)
		none := core.EmptyMetricRegistryInstance
		parts := map[string]*strategy.LookupPartition{}
		for i, of := range share {
			name := priority.FromIndex(i).String()
			parts[name] = strategy.NewLookupPartitionWithMetricRegistry(name, of, 1, none)
		}
		partitions, err := strategy.NewLookupPartitionStrategyWithMetricRegistry(parts, className, first, none)
		if err != nil {
			return nil, err
		}
		estimate, err := limit.NewGradient2Limit("overload", first, highest, lowest, nil, smoothing, window, limit.NoopLimitLogger{}, none)
		if err != nil {
			return nil, err
		}
		l, err := limiter.NewDefaultLimiter(estimate, int64(time.Second), int64(time.Second), threshold, samples, partitions, limit.NoopLimitLogger{}, none)
		if err != nil {
			return nil, err
		}
		return partitioned{l}, nil
	}
}

type classKey struct{}

func className(ctx context.Context) string {
	name, _ := ctx.Value(classKey{}).(string)
	return name
}

type partitioned struct{ limiter core.Limiter }

func (p partitioned) Serve(ctx context.Context, c Call, work Work) bool {
	listener, ok := p.limiter.Acquire(context.WithValue(ctx, classKey{}, c.Class.String()))
	if !ok {
		return false
	}
	if work(ctx) != nil {
		listener.OnDropped()
	} else {
		listener.OnSuccess()
	}
	return true
}

func (partitioned) Close() {}
