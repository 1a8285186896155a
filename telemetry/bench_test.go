package telemetry

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// BenchmarkDecision is the cost of counting alone: the clock is read, the
// class, outcome, entry, reason and duration are counted.
func BenchmarkDecision(b *testing.B) {
	observer := made(b, Config{})
	p := observed(b, observer, pipeline.Entry{Name: "limit", Kind: "ratelimit", Stage: refusing("refused", pipeline.RateLimited)})
	for _, c := range []struct{ name, host string }{{"admitted", ""}, {"refused", "refused"}} {
		r := &pipeline.Request{Subject: match.Subject{Host: c.host}}
		d := p.Acquire(b.Context(), r)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				observer.Decided(r, d)
			}
		})
	}
	b.Run("released", func(b *testing.B) {
		r := &pipeline.Request{Now: 1}
		b.ReportAllocs()
		for b.Loop() {
			observer.Released(r, pipeline.Result{At: 1 << 20})
		}
	})
	b.Run("clock alone", func(b *testing.B) {
		for b.Loop() {
			p.Now()
		}
	})
}

// BenchmarkParallel is the same from every processor.
func BenchmarkParallel(b *testing.B) {
	observer := made(b, Config{})
	p := observed(b, observer)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := &pipeline.Request{}
		d := p.Acquire(b.Context(), r)
		for pb.Next() {
			observer.Decided(r, d)
		}
	})
}

// BenchmarkScrape is one with every gauge.
func BenchmarkScrape(b *testing.B) {
	observer := made(b, Config{Gauges: everyGauge()})
	observed(b, observer, pipeline.Entry{Name: "limit", Stage: refusing("refused", pipeline.RateLimited)})
	for b.Loop() {
		scrape(b, observer)
	}
}
