package overload

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/priority"

	ours "github.com/plimsoll-go/plimsoll/priority"
)

func failsafePlain() Contestant {
	with := func(change func(adaptivelimiter.Builder[any])) func(*Service) (Shedder, error) {
		return func(*Service) (Shedder, error) {
			b := adaptivelimiter.NewBuilder[any]()
			change(b)
			return failsafe{b.Build()}, nil
		}
	}
	return Contestant{"failsafe-go", []Setting{
		{"default", with(func(adaptivelimiter.Builder[any]) {})},
		{"short window", with(func(b adaptivelimiter.Builder[any]) { b.WithRecentWindow(100*time.Millisecond, time.Second, 20) })},
		{"limits 4 to 40", with(func(b adaptivelimiter.Builder[any]) { b.WithLimits(4, 40, 20) })},
		{"queueing, wait 50ms", with(func(b adaptivelimiter.Builder[any]) { b.WithQueueing(2, 3).WithMaxWaitTime(50 * time.Millisecond) })},
	}}
}

type failsafe struct {
	limiter adaptivelimiter.AdaptiveLimiter[any]
}

func (f failsafe) Serve(ctx context.Context, _ Call, work Work) bool {
	permit, ok := f.limiter.TryAcquirePermit()
	if !ok {
		return false
	}
	finish(permit, work(ctx))
	return true
}

func (failsafe) Close() {}

// finish tells how a call ended: as the library's documentation has it, one
// that was given up on is dropped, and does not count as a time.
func finish(permit adaptivelimiter.Permit, err error) {
	if err != nil {
		permit.Drop()
		return
	}
	permit.Record()
}

func failsafePrioritized() Contestant {
	with := func(every time.Duration, change func(adaptivelimiter.Builder[any])) func(*Service) (Shedder, error) {
		return func(*Service) (Shedder, error) {
			b := adaptivelimiter.NewBuilder[any]()
			change(b)
			p := adaptivelimiter.NewPrioritizer()
			s := &failsafePriority{limiter: b.BuildPrioritized(p), stop: make(chan struct{})}
			go s.calibrate(p, every)
			return s, nil
		}
	}
	plain := func(adaptivelimiter.Builder[any]) {}
	return Contestant{"failsafe-go prioritized", []Setting{
		{"calibrated each 500ms", with(500*time.Millisecond, plain)},
		{"calibrated each 50ms", with(50*time.Millisecond, plain)},
		{"each 50ms, limits 4 to 40", with(50*time.Millisecond, func(b adaptivelimiter.Builder[any]) { b.WithLimits(4, 40, 20) })},
		{"each 50ms, short window", with(50*time.Millisecond, func(b adaptivelimiter.Builder[any]) {
			b.WithRecentWindow(100*time.Millisecond, time.Second, 20)
		})},
	}}
}

type failsafePriority struct {
	limiter adaptivelimiter.PriorityLimiter[any]
	stop    chan struct{}
}

func (f *failsafePriority) calibrate(p priority.Prioritizer, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.Calibrate()
		case <-f.stop:
			return
		}
	}
}

func (f *failsafePriority) Serve(ctx context.Context, c Call, work Work) bool {
	permit, err := f.limiter.AcquirePermitWithPriority(ctx, failsafeClass[c.Class.Index()])
	if err != nil {
		return false
	}
	finish(permit, work(ctx))
	return true
}

func (f *failsafePriority) Close() { close(f.stop) }

// failsafeClass maps the classes, least important first.
var failsafeClass = [ours.Count]priority.Priority{priority.VeryLow, priority.Low, priority.High, priority.VeryHigh}
