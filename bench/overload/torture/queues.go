package torture

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/alibaba/sentinel-golang/api"
	"github.com/alibaba/sentinel-golang/core/base"
	"github.com/alibaba/sentinel-golang/core/isolation"
	"github.com/alibaba/sentinel-golang/core/stat"
	"github.com/platinummonkey/go-concurrency-limits/core"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	"github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"

	"github.com/plimsoll-go/plimsoll/bench/overload"
)

// netflix is the Go port of Netflix's limits, in front of it its queue when
// callers may wait.
func netflix() Subject {
	return Subject{Name: "go-concurrency-limits", Form: "direct, as its wrappers call it", Caps: true, Waits: true, Make: func(o Options) (*Victim, error) {
		none := core.EmptyMetricRegistryInstance
		room := strategy.NewSimpleStrategy(o.Room)
		fixed, err := limiter.NewDefaultLimiter(limit.NewFixedLimit("torture", o.Room, none), int64(time.Second), int64(time.Second), 1, 100,
			room, limit.NoopLimitLogger{}, none)
		if err != nil {
			return nil, err
		}
		var l core.Limiter = fixed
		if o.Wait > 0 {
			l = limiter.NewQueueBlockingLimiterFromConfig(fixed, limiter.QueueLimiterConfig{
				Ordering: limiter.OrderingFIFO, MaxBacklogSize: o.Queue, MaxBacklogTimeout: o.Wait, BacklogEvictDoneCtx: true,
			})
		}
		return &Victim{
			Wrap:    func(next http.Handler) http.Handler { return listening(l, next) },
			Running: room.GetBusyCount,
			SetRoom: func(n int) error { room.SetLimit(n); return nil },
			Acquire: func(time.Duration) (func(), bool) {
				listener, ok := l.Acquire(context.Background())
				if !ok {
					return nil, false
				}
				return listener.OnSuccess, true
			},
		}, nil
	}}
}

func listening(l core.Limiter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		listener, ok := l.Acquire(r.Context())
		if !ok {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
		listener.OnSuccess()
	})
}

// resources numbers the resources of sentinel, which are of the process.
var resources atomic.Int64

func sentinel() Subject {
	return Subject{Name: "sentinel-golang", Form: "direct, deferred as in its adapters; rule on concurrency", Caps: true, Make: func(o Options) (*Victim, error) {
		if err := overload.StartSentinel(); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("torture-%d", resources.Add(1))
		setRoom := func(n int) error {
			_, err := isolation.LoadRules([]*isolation.Rule{{Resource: name, MetricType: isolation.Concurrency, Threshold: uint32(n)}})
			return err
		}
		acquire := func(time.Duration) (func(), bool) {
			entry, blocked := api.Entry(name, api.WithTrafficType(base.Inbound))
			if blocked != nil {
				return nil, false
			}
			return func() { entry.Exit() }, true
		}
		return &Victim{
			Wrap: deferred(acquire), Acquire: acquire, SetRoom: setRoom,
			Running: func() int {
				if node := stat.GetResourceNode(name); node != nil {
					return int(node.CurrentConcurrency())
				}
				return 0
			},
		}, setRoom(o.Room)
	}}
}

// deferred is a middleware that gives back on every way out.
func deferred(acquire func(time.Duration) (func(), bool)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			release, ok := acquire(0)
			if !ok {
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			defer release()
			next.ServeHTTP(w, r)
		})
	}
}
