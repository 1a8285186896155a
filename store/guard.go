package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// State is what the guard knows of its store. The zero value is OK.
type State uint8

// The states.
const (
	OK       State = iota // answers within the budget
	Degraded              // answers, but some calls fail or are late; or is being let back in
	Down                  // is not asked; a probe in the background looks for its return
)

var states = [...]string{"ok", "degraded", "down"}

// String is ok, degraded or down.
func (s State) String() string {
	if int(s) >= len(states) {
		return "unknown"
	}
	return states[s]
}

// What a guard does unless it is configured.
const (
	DefaultBudget      = 2 * time.Millisecond // that a decision waits for the store
	DefaultMaxInFlight = 64                   // calls
	DefaultQueue       = 4096                 // returns
)

// GuardConfig sets a guard. The zero value is the default. All but Local
// concerns remote drivers alone: those in this process never wait and are
// always there.
type GuardConfig struct {
	// Budget is how long one call may keep a request waiting, 100µs … 1s.
	// Default 2ms.
	Budget time.Duration
	// MaxInFlight is how many calls may be under way, those included that
	// nobody waits for any more, 1 … 4096. Default 64. A call more is not made.
	MaxInFlight int
	// Queue is how many returns may wait for the store, 1 … 1,048,576. Default
	// 4096. A return more is dropped and counted.
	Queue int
	// Leases are for keys that are asked for often. Default on, if the driver
	// lends.
	Leases LeaseConfig
	// Local answers for requests that the store could not decide. Default none.
	Local Driver
	// Random draws from 0 … 1, 1 excluded, for what must not happen in step
	// with other workers. It is called concurrently. Default a generator that
	// nobody can foresee; a simulation gives one that repeats.
	Random func() float64
	// OnState is told each change of the state, with the last failure unless
	// the state is OK. It is called by one goroutine of Run, in order; while it
	// keeps that waiting, changes may be left out. Nil tells nobody.
	OnState func(State, error)
}

// Validate names every setting that is out of its range. NewGuard takes the
// nearest that is not.
func (c *GuardConfig) Validate() error {
	d := c.complete()
	var errs []error
	if c.Budget != 0 && c.Budget != d.Budget {
		errs = append(errs, fmt.Errorf("store: budget must be 100µs … 1s, got %s", c.Budget))
	}
	if c.MaxInFlight != 0 && c.MaxInFlight != d.MaxInFlight {
		errs = append(errs, fmt.Errorf("store: max_in_flight must be 1 … 4096, got %d", c.MaxInFlight))
	}
	if c.Queue != 0 && c.Queue != d.Queue {
		errs = append(errs, fmt.Errorf("store: queue must be 1 … 1048576, got %d", c.Queue))
	}
	errs = append(errs, c.Leases.Validate())
	return errors.Join(errs...)
}

// complete fills what was left out and takes the rest into its range.
func (c GuardConfig) complete() GuardConfig {
	if c.Budget == 0 {
		c.Budget = DefaultBudget
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	c.Budget = min(max(c.Budget, 100*time.Microsecond), time.Second)
	c.MaxInFlight = min(max(c.MaxInFlight, 1), 4096)
	c.Queue = min(max(c.Queue, 1), 1<<20)
	return c
}

// Guard is a driver with its cost bounded. All methods may be called
// concurrently.
//
// Around a driver in this process it is the memory of denials and little else.
// A remote driver is asked by other goroutines, so that a claim never waits
// longer than the budget; and while Run is running, a store that is down is not
// asked, and Claim answers ErrUnavailable at once. A claim costs a remote
// driver's caller about two microseconds more than the driver, and allocates
// nothing.
type Guard struct {
	driver  Driver
	config  GuardConfig
	remote  *remote // nil around a driver in this process
	denials *denials
	workers atomic.Int32 // last known number of live workers, at least 1
	shares  atomic.Pointer[shares]
}

// NewGuard puts a guard around a driver. It starts nothing: background work is
// Run's.
func NewGuard(d Driver, c GuardConfig) *Guard {
	g := &Guard{driver: d, config: c.complete(), denials: newDenials()}
	if _, inProcess := d.(InProcess); !inProcess {
		g.remote = newRemote(d, &g.config)
		g.remote.lease(g)
	}
	g.workers.Store(1)
	return g
}

// Remote reports whether asking the store takes time.
func (g *Guard) Remote() bool { return g.remote != nil }

// State is what is known of the store now.
func (g *Guard) State() State {
	if g.remote == nil {
		return OK
	}
	return State(g.remote.breaker.state.Load())
}

// Stats counts what the guard did; all zero around a driver in this process.
func (g *Guard) Stats() Stats {
	if g.remote == nil {
		return Stats{}
	}
	return g.remote.stats()
}

// Claim decides a batch. An error means that the store could not be asked in
// time, and that nothing is held: what is granted later is given back.
func (g *Guard) Claim(ctx context.Context, b *Batch) error {
	b.Budget = g.config.Budget
	if g.remote == nil {
		if err := g.driver.Claim(ctx, b); err != nil {
			return err
		}
	} else if err := g.remote.claim(ctx, b); err != nil {
		return err
	}
	for i := range b.Grants {
		if !b.Grants[i].OK && !b.Peek && b.stands(i) && !g.holds(&b.Claims[i], b.Now) {
			g.denials.remember(&b.Claims[i], &b.Grants[i], b.Now)
		}
	}
	return nil
}

// stands reports whether a refusal says how full its limit is: not when an
// earlier claim of the same batch is on the same state, nor for a shadow claim
// when the enforced ones did not pass, for then it may not have been judged.
func (b *Batch) stands(i int) bool {
	for j := range b.Claims {
		if j < i && b.Claims[j].Owner == b.Claims[i].Owner && b.Claims[j].Limit.ID == b.Claims[i].Limit.ID {
			return false
		}
		if b.Claims[i].Group == Shadow && b.Claims[j].Group == Enforced && !b.Grants[j].OK {
			return false
		}
	}
	return true
}

// Denied answers from memory whether a claim would be refused now. A false
// says nothing: the store has to be asked. It costs a few nanoseconds while
// nothing is denied.
func (g *Guard) Denied(owner Key, l *Limit, cost, now int64) (Grant, bool) {
	return g.denials.find(owner, l, cost, now)
}

// Return gives back or charges, without waiting for a remote store.
func (g *Guard) Return(ctx context.Context, returns []Return) {
	for i := range returns {
		g.denials.move(&returns[i])
	}
	if g.remote != nil {
		g.remote.giveBack(returns)
		return
	}
	_ = g.driver.Return(ctx, returns) // a driver in this process has nobody to fail it
}

// Renew prolongs the leases of slots that are still held. Around a remote
// driver it waits a quarter of a second at most.
func (g *Guard) Renew(ctx context.Context, held []Return) error {
	if g.remote == nil {
		return g.driver.Renew(ctx, held)
	}
	held = slices.Clone(held) // the driver may read them when this has returned
	return g.remote.renewals.run(ctx, returnWait, func(ctx context.Context) error { return g.driver.Renew(ctx, held) })
}

// Sync exchanges a heartbeat with the fleet. Around a remote driver it waits no
// longer than a beat.
func (g *Guard) Sync(ctx context.Context, r Report) (View, error) {
	if g.remote == nil {
		v, err := g.driver.Sync(ctx, r)
		return g.seen(v, err)
	}
	wait := r.Beat
	if wait <= 0 {
		wait = DefaultBeat
	}
	answer := new(View)
	err := g.remote.syncs.run(ctx, wait, func(ctx context.Context) error {
		v, err := g.driver.Sync(ctx, r)
		*answer = v
		return err
	})
	if err != nil {
		g.remote.suspect()
		return View{}, err // the driver may be writing still
	}
	return g.seen(*answer, nil)
}

// seen remembers how many share the limits. Who is silent with many others, or
// not heard yet by a young store, is there for all that is known.
func (g *Guard) seen(v View, err error) (View, error) {
	if err != nil {
		return v, err
	}
	n := v.Live
	if v.LowTrust {
		n += v.Stale
	}
	if v.Learning {
		n = max(n, int(g.workers.Load()))
	}
	g.workers.Store(int32(max(n, 1)))
	return v, nil
}

// Run keeps the guard's background work going until the context ends.
func (g *Guard) Run(ctx context.Context) error {
	if g.remote != nil {
		g.remote.run(ctx, g.config.OnState)
	}
	<-ctx.Done()
	return ctx.Err()
}
