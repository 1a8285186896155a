package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// keys are the callers' keys, as the edge would have made them.
var keys = sync.OnceValue(func() []store.Key {
	list := make([]store.Key, million)
	for i, name := range names() {
		list[i] = store.KeyOf(name)
	}
	return list
})

const tokens = 100_000_000 // a second, and as burst

func memory(b *testing.B) *memstore.Store {
	b.Helper()
	s, err := memstore.New(memstore.Config{MaxKeys: 4 * million})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// ourRate is the token bucket as the pipeline asks it: the key and the moment
// come with the request.
func ourRate(b *testing.B) func() func(int) bool {
	b.Helper()
	return ourBucket(b, func() asker {
		now, ids := time.Now().UnixNano(), keys()
		return func(key int) (store.Key, int64) {
			now++
			return ids[key], now
		}
	})
}

// ourRateAlone makes the key and reads the clock itself, as the rivals do.
func ourRateAlone(b *testing.B) func() func(int) bool {
	b.Helper()
	return ourBucket(b, func() asker {
		return func(key int) (store.Key, int64) { return store.KeyOf(names()[key]), time.Now().UnixNano() }
	})
}

// asker is who asks for a key, and when.
type asker func(key int) (store.Key, int64)

func ourBucket(b *testing.B, ask func() asker) func() func(int) bool {
	b.Helper()
	s := memory(b)
	l, err := store.NewTokens("bench", store.TokenBucket, limit.Per(tokens, time.Second), tokens)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	return func() func(int) bool {
		batch := store.Batch{Claims: make([]store.Claim, 1), Grants: make([]store.Grant, 1)}
		next := ask()
		return func(key int) bool {
			owner, now := next(key)
			batch.Now = now
			batch.Claims[0] = store.Claim{Owner: owner, Limit: l, Cost: 1}
			return s.Claim(ctx, &batch) == nil && batch.Grants[0].OK
		}
	}
}

// fourStages is a pipeline with the four stages, far from every limit unless a
// change brings it there.
func fourStages(b *testing.B, change func(*plan)) *pipeline.Pipeline {
	b.Helper()
	caller, err := pipeline.ParseOwner("caller")
	if err != nil {
		b.Fatal(err)
	}
	c := plan{
		rate:  ratelimit.Config{Limits: []ratelimit.Limit{{Name: "rate", Key: caller, Rate: limit.Per(tokens, time.Second)}}},
		slots: concurrency.Config{Limits: []concurrency.Limit{{Name: "slots", Key: caller, Max: 10_000}}},
		fleet: fleetshed.Config{Lease: lease(1 << 20)},
		work:  workershed.Config{MaxInFlight: 16_000, Adaptive: workershed.Fixed},
	}
	change(&c)
	p, err := c.build(b)
	if err != nil {
		b.Fatal(err)
	}
	run(b, p)
	return p
}

// plan is the configuration of the four stages.
type plan struct {
	rate  ratelimit.Config
	slots concurrency.Config
	fleet fleetshed.Config
	work  workershed.Config
}

func (c *plan) build(b *testing.B) (*pipeline.Pipeline, error) {
	b.Helper()
	rate, err := ratelimit.New(c.rate, nil)
	if err != nil {
		return nil, err
	}
	slots, err := concurrency.New(c.slots, nil)
	if err != nil {
		return nil, err
	}
	fleet, err := fleetshed.New(c.fleet, &fleetshed.State{})
	if err != nil {
		return nil, err
	}
	work, err := workershed.New(c.work, workershed.NewState())
	if err != nil {
		return nil, err
	}
	entries, err := pipeline.NewPlan(
		pipeline.Entry{Name: "ratelimit", Stage: rate}, pipeline.Entry{Name: "concurrency", Stage: slots},
		pipeline.Entry{Name: "fleetshed", Stage: fleet}, pipeline.Entry{Name: "workershed", Stage: work},
	)
	if err != nil {
		return nil, err
	}
	return pipeline.New(pipeline.Config{Plan: entries, Store: store.NewGuard(memory(b), store.GuardConfig{})})
}

// run runs a pipeline's background work for the time of a benchmark.
func run(b *testing.B, p *pipeline.Pipeline) {
	b.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		<-done
	})
}

// lease is a worker's lease that never changes.
type lease float64

func (l lease) Room(int64) (requests float64, known bool) { return float64(l), true }

// decide makes a request as the edge does, with one reading of the clock,
// decides it and releases it.
func decide(p *pipeline.Pipeline, class priority.Class) func() func(int) bool {
	ctx, ids, labels := context.Background(), keys(), names()
	return func() func(int) bool {
		r := new(pipeline.Request)
		return func(key int) bool {
			r.Reset()
			r.Caller.ID, r.Caller.Name = ids[key], labels[key]
			r.Class = class
			r.Now = p.Now()
			if p.Acquire(ctx, r).Verdict != pipeline.Admit {
				return false
			}
			p.Release(r, pipeline.Result{})
			return true
		}
	}
}

// protect is the middleware on a pipeline; callers are known by their key.
func protect(b *testing.B, p *pipeline.Pipeline, f httpmw.Fields) *httpmw.Middleware {
	b.Helper()
	who, err := identity.New(identity.Config{Sources: []string{"header:X-Api-Key", "address"}})
	if err != nil {
		b.Fatal(err)
	}
	m, err := httpmw.New(httpmw.Config{Identity: who, Fields: f}, p)
	if err != nil {
		b.Fatal(err)
	}
	return m
}
