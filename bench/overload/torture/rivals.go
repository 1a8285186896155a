package torture

import (
	"net/http"
	"reflect"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/go-kratos/aegis/ratelimit"
	"github.com/go-kratos/aegis/ratelimit/bbr"
	"github.com/zeromicro/go-zero/core/load"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"
	"github.com/zeromicro/go-zero/rest/handler"
)

func failsafeLimiter() Subject {
	return Subject{Name: "failsafe-go limiter", Form: "failsafehttp handler, adaptive limiter", Caps: true, Waits: true, Make: func(o Options) (*Victim, error) {
		room := uint(o.Room)
		b := adaptivelimiter.NewBuilder[*http.Response]().WithLimits(room, room, room)
		if o.Wait > 0 {
			factor := float64(o.Queue)/float64(o.Room) + 1
			b = b.WithQueueing(factor, factor).WithMaxWaitTime(o.Wait)
		}
		l := b.Build()
		return &Victim{
			Wrap:    func(next http.Handler) http.Handler { return failsafehttp.NewHandler(next, l) },
			Running: l.Inflight, Queued: l.Queued,
			Acquire: func(time.Duration) (func(), bool) {
				permit, ok := l.TryAcquirePermit()
				if !ok {
					return nil, false
				}
				return permit.Record, true
			},
		}, nil
	}}
}

func failsafeBulkhead() Subject {
	return Subject{Name: "failsafe-go bulkhead", Form: "failsafehttp handler, bulkhead", Caps: true, Waits: true, Make: func(o Options) (*Victim, error) {
		b := bulkhead.NewBuilder[*http.Response](uint(o.Room)).WithMaxWaitTime(o.Wait).Build()
		held := reflect.ValueOf(b).Elem().FieldByName("semaphore") // it has no gauge
		return &Victim{
			Wrap:    func(next http.Handler) http.Handler { return failsafehttp.NewHandler(next, b) },
			Running: held.Len,
			Acquire: func(time.Duration) (func(), bool) { return b.ReleasePermit, b.TryAcquirePermit() },
		}, nil
	}}
}

func goZero() Subject {
	return Subject{Name: "go-zero", Form: "rest/handler.SheddingHandler", Make: func(Options) (*Victim, error) {
		logx.Disable()
		load.DisableLog()
		shedder := load.NewAdaptiveShedder()
		flying := reflect.ValueOf(shedder).Elem().FieldByName("flying") // it has no gauge
		return &Victim{
			Wrap:    handler.SheddingHandler(shedder, stat.NewMetrics("torture")),
			Running: func() int { return int(flying.Int()) },
			Acquire: func(time.Duration) (func(), bool) {
				promise, err := shedder.Allow()
				if err != nil {
					return nil, false
				}
				return promise.Pass, true
			},
		}, nil
	}}
}

func aegis() Subject {
	return Subject{Name: "aegis BBR", Form: "direct, as the middleware of kratos calls it", Make: func(Options) (*Victim, error) {
		limiter := bbr.NewLimiter()
		acquire := func(time.Duration) (func(), bool) {
			done, err := limiter.Allow()
			if err != nil {
				return nil, false
			}
			return func() { done(ratelimit.DoneInfo{}) }, true
		}
		return &Victim{
			Wrap: inLine(acquire), Acquire: acquire,
			Running: func() int { return int(limiter.Stat().InFlight) },
		}, nil
	}}
}

// inLine is a middleware that gives back after the handler, in line and not
// deferred, as the wrappers of those libraries do that use it here.
func inLine(acquire func(time.Duration) (func(), bool)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			release, ok := acquire(0)
			if !ok {
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
			release()
		})
	}
}
