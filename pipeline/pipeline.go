package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// Config sets a pipeline.
type Config struct {
	Plan     *Plan                         // what to decide by first; required
	Store    *store.Guard                  // needed when a stage of any plan shares state
	Observer Observer                      // told of every decision; nil tells nobody
	Logger   *slog.Logger                  // for what an operator should read; nil logs nothing
	MaxHeld  int                           // how many requests leaky buckets may hold back at once; more are refused; 0 is DefaultMaxHeld
	Parallel []func(context.Context) error // run and joined by Run beside the pipeline's own work, a heartbeat for example
}

// Pipeline decides requests by its current plan. All methods may be called
// concurrently, as long as each Request is used by one goroutine at a time.
type Pipeline struct {
	plan     atomic.Pointer[Plan]
	store    *store.Guard
	observer Observer
	observed bool // somebody is the observer
	logger   *slog.Logger
	parallel []func(context.Context) error
	clock    clock
	holders  *holders
	holding  atomic.Int64 // requests that are held back
	maxHeld  int64
	running  atomic.Bool
	warned   atomic.Bool
}

// New makes a pipeline. It starts nothing: background work is Run's.
func New(c Config) (*Pipeline, error) {
	if c.Plan == nil {
		return nil, errors.New("pipeline: a plan is needed")
	}
	p := &Pipeline{
		store: c.Store, observer: c.Observer, logger: c.Logger, parallel: c.Parallel,
		clock: newClock(), maxHeld: DefaultMaxHeld, holders: new(holders),
	}
	if c.MaxHeld > 0 {
		p.maxHeld = int64(c.MaxHeld)
	}
	if p.observed = p.observer != nil; !p.observed {
		p.observer = nobody{}
	}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	return p, p.Swap(c.Plan)
}

// Swap makes another plan the current one. Requests that are in flight end
// under the plan that admitted them.
func (p *Pipeline) Swap(plan *Plan) error {
	if plan == nil {
		return errors.New("pipeline: a plan is needed")
	}
	for i := range plan.entries {
		if plan.entries[i].sharer != nil && p.store == nil {
			return errors.New("pipeline: " + plan.entries[i].Name + " shares state, and the pipeline has no store")
		}
	}
	p.plan.Store(plan)
	return nil
}

// Plan is the current plan.
func (p *Pipeline) Plan() *Plan { return p.plan.Load() }

// Store is the guard that the pipeline asks, or nil.
func (p *Pipeline) Store() *store.Guard { return p.store }

// Now is the moment to stamp a request with: nanoseconds since the epoch by a
// clock that never steps, whatever happens to the wall clock.
func (p *Pipeline) Now() int64 { return p.clock.now() }

// Acquire decides a request. When it admits, Release must follow, once, on
// every way out; when it does not, nothing is held. It waits at most for the
// store's budget, for its turn under a leaky bucket that delays, and for the
// wait of the stage that may wait, and no longer than ctx. It does not allocate.
func (p *Pipeline) Acquire(ctx context.Context, r *Request) Decision {
	if !p.running.Load() && !p.warned.Swap(true) {
		p.logger.Warn("pipeline.Run is not running: limits do not adapt, leases are not renewed")
	}
	p.begin(r)
	a := &r.admission
	for !p.walk(ctx, r) {
		// An entry panicked; its policy is applied, and the walk goes on behind it.
	}
	d := a.decision
	if d.Verdict == Admit {
		a.client = ctx
		p.holders.add(r, held)
	} else if a.holds() {
		p.unwind(r, Result{Outcome: NotRun})
	}
	if p.observed {
		p.observer.Decided(r, d)
	}
	return d
}

// Release ends an admitted request. It acts once, whoever calls and however
// often; for a request that is not held it does nothing.
func (p *Pipeline) Release(r *Request, result Result) {
	if !r.admission.end(held) {
		return
	}
	if result.At == 0 {
		result.At = p.Now()
	}
	if result.Outcome != NotRun {
		for _, i := range r.admission.plan.learn {
			p.learnOne(r, i, result)
		}
	}
	p.unwind(r, result)
	if p.observed {
		p.observer.Released(r, result)
	}
	r.admission.client = nil //nolint:fatcontext // it is let go, and not nested
}

// InFlight is the number of requests that are held now.
func (p *Pipeline) InFlight() int { return p.holders.len() }

func (p *Pipeline) begin(r *Request) {
	a := &r.admission
	if a.state.Load() != free {
		panic("pipeline: Acquire of a request that is in flight")
	}
	a.plan = p.plan.Load()
	a.decision = Decision{}
	a.pass, a.cursor, a.virtual = looking, 0, true
	a.held, a.granted, a.local, a.shadow, a.detached = 0, false, false, false, false
	a.delay = 0
	a.batch.ID.Lo = 0
	a.batch.Claims = a.batch.Claims[:0]
	if r.Now == 0 {
		r.Now = p.Now()
	}
	if r.Cost == 0 {
		r.Cost = 1
	}
	a.batch.Now = r.Now
	a.remembers = a.plan.sharers != 0 && p.store.Remembers(r.Now)
	r.Detail = Detail{}
	r.Waits = Waits{}
}

// clock counts from the moment it was made, on the monotonic clock alone:
// reading it costs half of time.Now, and a step of the wall clock does not
// reach it.
type clock struct {
	base  time.Time
	epoch int64
}

func newClock() clock {
	now := time.Now()
	return clock{base: now, epoch: now.UnixNano()}
}

func (c *clock) now() int64 { return c.epoch + int64(time.Since(c.base)) }

type nobody struct{}

func (nobody) Decided(*Request, Decision)  {}
func (nobody) Shadowed(*Request, Decision) {}
func (nobody) Released(*Request, Result)   {}
func (nobody) Fault(*Request, int, Fault)  {}
