package bench

import (
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"golang.org/x/time/rate"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// BenchmarkFourStages is a whole decision, admitted and released.
func BenchmarkFourStages(b *testing.B) {
	contest(b, []workload{oneKey, thousandKeys, millionKeys}, []contestant{
		{"plimsoll", func(b *testing.B) func() func(int) bool {
			return decide(fourStages(b, func(*plan) {}), priority.Normal)
		}},
		{"parts", parts},
	})
}

// parts is the same protection put together from the parts of others: for each
// caller a token bucket and a bulkhead, for the worker an adaptive limiter and
// a throttler.
func parts(*testing.B) func() func(int) bool {
	type of struct {
		rate  *rate.Limiter
		slots bulkhead.Bulkhead[any]
	}
	callers := &perKey[of]{make: func() of {
		return of{rate.NewLimiter(tokens, tokens), bulkhead.New[any](room)}
	}}
	throttle := adaptivethrottler.NewBuilder[any]().WithFailureRateThreshold(0.5, 100, time.Second).Build()
	adapt := adaptivelimiter.NewBuilder[any]().WithLimits(room, 2*room, room).Build()
	return each(func(key int) bool {
		caller := callers.of(key)
		if !caller.rate.Allow() || !caller.slots.TryAcquirePermit() {
			return false
		}
		defer caller.slots.ReleasePermit()
		if !throttle.TryAcquirePermit() {
			return false
		}
		permit, ok := adapt.TryAcquirePermit()
		if !ok {
			return false
		}
		permit.Record()
		throttle.RecordResult(nil)
		return true
	})
}

// BenchmarkRefusal refuses in the look: by the memory of a denial, which the
// first entry reads, and by the last entry.
func BenchmarkRefusal(b *testing.B) {
	for _, c := range []struct {
		way    string
		reason pipeline.Reason
		change func(*plan)
	}{
		{"first-entry", pipeline.RateLimited, func(p *plan) { p.rate.Limits[0].Rate = limit.Per(1, time.Hour) }},
		{"last-entry", pipeline.WorkerShed, func(p *plan) { p.work.ClassShare = [priority.Count]float64{0, 1, 1, 1} }},
	} {
		for _, g := range []struct {
			name       string
			goroutines int
		}{{"g=1", 1}, {"g=64", 64}} {
			b.Run(c.way+"/"+g.name+"/plimsoll", func(b *testing.B) {
				p := fourStages(b, c.change)
				refuse(b, p, c.reason, g.goroutines)
			})
		}
	}
}

func refuse(b *testing.B, p *pipeline.Pipeline, want pipeline.Reason, goroutines int) {
	b.Helper()
	spawn := decide(p, priority.Low)
	do := spawn()
	do(0) // spends the token that there may be
	do(0) // is refused by the store, which is remembered
	r := &pipeline.Request{Caller: pipeline.Caller{ID: keys()[0], Name: names()[0]}, Class: priority.Low}
	if d := p.Acquire(b.Context(), r); d.Reason != want {
		b.Fatalf("refused for %q, want %q", d.Reason, want)
	}
	b.ReportAllocs()
	b.ResetTimer()
	defer cpuTime(b)()
	var n int64
	if goroutines == 1 {
		n = alone(b, spawn(), []uint32{0})
	} else {
		n = crowd(b, spawn, []uint32{0}, goroutines)
	}
	if n != int64(b.N) {
		b.Errorf("%d of %d were refused", n, b.N)
	}
}
