package telemetry

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
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

// BenchmarkFourStages is a whole decision, of one caller,
// admitted and released, with nobody told and with all of it counted.
func BenchmarkFourStages(b *testing.B) {
	file, err := config.Parse("four.yaml", []byte(`version: 1
stages:
  - {stage: ratelimit, limits: [{name: rate, key: [caller], rate: 100000000/second}]}
  - {stage: concurrency, limits: [{name: slots, key: [caller], max: 1000}]}
  - {stage: fleetshed}
  - {stage: workershed}
`))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"untold", "counted"} {
		built, err := config.Build(file, nil)
		if err != nil {
			b.Fatal(err)
		}
		settings := pipeline.Config{Plan: built.Plan, Store: built.Live.Guard()}
		observer := made(b, Config{})
		if name == "counted" {
			settings.Observer = observer
		}
		p, err := pipeline.New(settings)
		if err != nil {
			b.Fatal(err)
		}
		observer.Follow(p)
		b.Run(name, func(b *testing.B) {
			r := &pipeline.Request{Caller: pipeline.Caller{ID: store.KeyOf("one"), Name: "one"}}
			b.ReportAllocs()
			for b.Loop() {
				r.Now = p.Now()
				run(b.Context(), p, r, pipeline.Completed)
			}
		})
	}
}

// BenchmarkScrape is one with every source.
func BenchmarkScrape(b *testing.B) {
	observer := made(b, Config{Sources: everySource()})
	observed(b, observer, pipeline.Entry{Name: "limit", Stage: refusing("refused", pipeline.RateLimited)})
	for b.Loop() {
		scrape(b, observer)
	}
}
