package faults

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// The limits. A caller that comes once has a quota that hardly refills, so that
// what it was charged can be counted afterwards, and slots with a lease that
// outlives the run, so that one that leaked is found.
const (
	quota   = 10
	slots   = 5
	lasting = 10 * time.Minute
	passing = 3 * time.Second // where slots may come back by their leases alone
	policy  = 3
)

// may is what a greedy caller may send: a quarter of what it does.
type may struct{ rate, burst int64 }

// mayOf is for so many requests a second in all, of which each greedy caller
// sends a fifteenth.
func mayOf(perSecond int) may {
	return may{rate: max(1, int64(perSecond)/60), burst: max(2, int64(perSecond)/50)}
}

var policies = [policy]pipeline.FaultPolicy{pipeline.Open, pipeline.Closed, pipeline.Local}

// rig is a worker: a pipeline with the two stages that share state, once for
// each fault policy, on one guarded store.
type rig struct {
	driver   *redisstore.Store
	guard    *store.Guard
	pipeline *pipeline.Pipeline
	rates    [policy]pipeline.Sharer
	slots    [policy]pipeline.Sharer
	watcher  *watcher

	stop context.CancelFunc
	done sync.WaitGroup
}

func newRig(ctx context.Context, c redisstore.Config, shape Shape, lease time.Duration) (*rig, error) {
	r := &rig{watcher: &watcher{}}
	var err error
	if r.driver, err = redisstore.New(c); err != nil {
		return nil, err
	}
	local, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	r.guard = store.NewGuard(r.driver, store.GuardConfig{Budget: shape.Budget, Local: local, OnState: r.watcher.changed})
	plan, err := r.plan(lease, mayOf(shape.Rate))
	if err != nil {
		return nil, err
	}
	if r.pipeline, err = pipeline.New(pipeline.Config{Plan: plan, Store: r.guard, Observer: r.watcher}); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	r.stop = stop
	r.done.Go(func() { _ = r.pipeline.Run(running) })
	return r, nil
}

// end stops the worker, and waits for it.
func (r *rig) end() {
	r.stop()
	r.done.Wait()
	_ = r.driver.Close()
}

func (r *rig) plan(lease time.Duration, may may) (*pipeline.Plan, error) {
	var entries []pipeline.Entry
	var errs [2]error
	for i, p := range policies {
		name := p.String()
		r.rates[i], errs[0] = ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{
			{Name: "quota-" + name, Match: match.Rule{Path: pathOf(p, false)}, Key: byCaller, Rate: limit.Per(quota, 10_000*time.Hour)},
			{Name: "rate-" + name, Match: match.Rule{Path: pathOf(p, true)}, Key: byCaller, Rate: limit.Per(may.rate, time.Second), Burst: may.burst},
		}}, nil)
		r.slots[i], errs[1] = concurrency.New(concurrency.Config{Limits: []concurrency.Limit{
			{Name: "slots-" + name, Match: match.Rule{Path: pathOf(p, false)}, Key: byCaller, Max: slots, Lease: lease},
		}}, nil)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		entries = append(entries,
			pipeline.Entry{Name: "ratelimit-" + name, OnFault: p, Stage: r.rates[i]},
			pipeline.Entry{Name: "concurrency-" + name, OnFault: p, Stage: r.slots[i]})
	}
	return pipeline.NewPlan(entries...)
}

var byCaller = pipeline.Owner{{}}

func pathOf(p pipeline.FaultPolicy, greedy bool) string {
	if greedy {
		return "/" + p.String() + "/greedy"
	}
	return "/" + p.String() + "/once"
}

// watcher is told which requests fell back, and how the store is.
type watcher struct {
	shots sync.Map // *pipeline.Request → *shot

	mu      sync.Mutex
	changes []Change
}

// Change is a change of the state that the guard told of.
type Change struct {
	State store.State
	Cause string
	At    time.Time
}

func (w *watcher) changed(s store.State, cause error) {
	c := Change{State: s, At: time.Now()}
	if cause != nil {
		c.Cause = cause.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, c)
}

// told is the changes until now.
func (w *watcher) told() []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.changes)
}

func (w *watcher) Decided(*pipeline.Request, pipeline.Decision)  {}
func (w *watcher) Shadowed(*pipeline.Request, pipeline.Decision) {}
func (w *watcher) Released(*pipeline.Request, pipeline.Result)   {}

// Fault is called by the request's own goroutine.
func (w *watcher) Fault(r *pipeline.Request, _ int, _ pipeline.Fault) {
	if r == nil {
		return // leases could not be renewed
	}
	if s, ok := w.shots.Load(r); ok {
		s.(*shot).fellBack = true
	}
}
