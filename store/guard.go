package store

import (
	"context"
	"sync/atomic"
	"time"
)

// State is what the guard knows of its store. The zero value is OK.
type State uint8

// The states.
const (
	OK       State = iota // answers within the budget
	Degraded              // answers, but some calls fail or are late
	Down                  // is not asked; a probe in the background looks for its return
)

// String is ok, degraded or down.
func (s State) String() string { return [...]string{"ok", "degraded", "down"}[s] }

// DefaultBudget is how long a decision waits for the store.
const DefaultBudget = 2 * time.Millisecond

// GuardConfig sets a guard. The zero value is the default.
type GuardConfig struct {
	// Budget is how long one call may keep a request waiting, 100µs … 1s.
	// Default 2ms. In-process drivers never wait.
	Budget time.Duration
	// Local answers for requests that the store could not decide. Default none.
	Local Driver
}

// Guard is a driver with its cost bounded. All methods may be called
// concurrently; Claim and Return never block longer than the budget.
type Guard struct {
	driver    Driver
	config    GuardConfig
	inProcess bool
	denials   denials
	workers   atomic.Int32 // last known number of live workers, at least 1
}

// NewGuard puts a guard around a driver.
func NewGuard(d Driver, c GuardConfig) *Guard {
	if c.Budget == 0 {
		c.Budget = DefaultBudget
	}
	_, inProcess := d.(InProcess)
	g := &Guard{driver: d, config: c, inProcess: inProcess}
	g.workers.Store(1)
	return g
}

// Remote reports whether asking the store takes time.
func (g *Guard) Remote() bool { return !g.inProcess }

// State is what is known of the store now.
func (g *Guard) State() State { return OK }

// Claim decides a batch. An error means that the store could not be asked in
// time, and that nothing is held.
func (g *Guard) Claim(ctx context.Context, b *Batch) error {
	b.Budget = g.config.Budget
	if err := g.driver.Claim(ctx, b); err != nil {
		return err
	}
	for i := range b.Grants {
		if !b.Grants[i].OK {
			g.denials.remember(&b.Claims[i], &b.Grants[i], b.Now)
		}
	}
	return nil
}

// Denied answers from memory whether a claim would be refused now. A false
// says nothing: the store has to be asked.
func (g *Guard) Denied(owner Key, l *Limit, cost, now int64) (Grant, bool) {
	return g.denials.find(owner, l, cost, now)
}

// Return gives back or charges, without waiting for the store.
func (g *Guard) Return(ctx context.Context, returns []Return) {
	for i := range returns {
		g.denials.move(&returns[i])
	}
	_ = g.driver.Return(ctx, returns)
}

// Renew prolongs the leases of slots that are still held.
func (g *Guard) Renew(ctx context.Context, held []Return) error {
	return g.driver.Renew(ctx, held)
}

// Sync exchanges a heartbeat with the fleet.
func (g *Guard) Sync(ctx context.Context, r Report) (View, error) {
	v, err := g.driver.Sync(ctx, r)
	if err == nil {
		g.workers.Store(int32(max(v.Live, 1)))
	}
	return v, err
}

// Run keeps the guard's background work going until the context ends.
func (g *Guard) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// ClaimLocal decides a batch on the embedded store, each limit at this
// worker's share of it by the last known number of workers.
func (g *Guard) ClaimLocal(ctx context.Context, b *Batch) error {
	if g.config.Local == nil {
		return ErrUnavailable
	}
	n := int(g.workers.Load())
	for i := range b.Claims {
		b.Claims[i].Limit = b.Claims[i].Limit.Share(n)
	}
	return g.config.Local.Claim(ctx, b)
}

// ReturnLocal gives back what ClaimLocal granted.
func (g *Guard) ReturnLocal(ctx context.Context, returns []Return) {
	_ = g.config.Local.Return(ctx, returns)
}
