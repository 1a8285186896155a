package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// Shape is how hard and how long a row is run. Phases take so long at least,
// and longer until what must happen in them has happened.
type Shape struct {
	Rate                  int           // requests a second
	Holds                 time.Duration // how long a request runs
	Budget                time.Duration // that a decision waits for the store
	Healthy, Fault, After time.Duration
}

// Enough requests to say that something is so.
const enough = 50

// run is a row under way.
type run struct {
	row     *Row
	shape   Shape
	world   *World
	rig     *rig
	load    *load
	sampler *sampler
	result  *Result
}

// Run runs a row, and returns what was seen. It ends all that it started. The
// error says what never happened.
func Run(ctx context.Context, row *Row, shape Shape) (*Result, error) {
	redisstore.Silence()
	w, err := row.Build(ctx)
	defer w.End()
	if err != nil {
		return nil, fmt.Errorf("faults: %s: %w", row.Name, err)
	}
	w.fault = shape.Fault
	lease := lasting
	if row.Leases {
		lease = passing
	}
	r, err := newRig(ctx, w.Worker, shape, lease)
	if err != nil {
		return nil, fmt.Errorf("faults: %s: %w", row.Name, err)
	}
	defer r.end()
	l := &load{rig: r, every: time.Second / time.Duration(shape.Rate), holds: shape.Holds, spoils: row.Spoils, began: time.Now()}
	u := &run{row: row, shape: shape, world: w, rig: r, load: l, sampler: &sampler{load: l, proxy: w.Proxy}, result: &Result{Row: row, Shape: shape}}
	if err := u.phases(ctx); err != nil {
		return nil, fmt.Errorf("faults: %s: %w", row.Name, err)
	}
	if err := u.count(ctx); err != nil {
		return nil, fmt.Errorf("faults: %s: %w", row.Name, err)
	}
	return u.result, nil
}

// phases drives the load through the fault.
func (u *run) phases(ctx context.Context) (err error) {
	loading, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.load.run(loading)
	}()
	defer func() {
		stop()
		<-done
	}()
	sampled := u.sampler.start(loading)
	defer sampled.Wait()
	defer stop()

	if err := u.until(ctx, "the store decides", u.clean); err != nil {
		return err
	}
	u.result.Began = time.Now()
	if err := pause(ctx, u.shape.Healthy); err != nil {
		return err
	}
	if err := u.fault(ctx); err != nil {
		return err
	}
	u.load.clean.Store(0)
	if err := u.until(ctx, "all is normal again", func() bool { return u.rig.guard.State() == store.OK && u.clean() }); err != nil {
		return err
	}
	return pause(ctx, u.shape.After)
}

// fault breaks, sees to it that the fault is felt, and heals.
func (u *run) fault(ctx context.Context) error {
	u.sampler.breaks()
	seen := u.connections(ctx)
	u.result.Broke = time.Now()
	if err := u.row.Break(ctx, u.world); err != nil {
		return fmt.Errorf("break: %w", err)
	}
	if u.row.Effect == Opens {
		if err := u.until(ctx, "the store is down", func() bool { return u.rig.guard.State() == store.Down }); err != nil {
			return err
		}
	}
	before := u.load.decided.Load()
	if err := u.until(ctx, "requests are decided", func() bool { return u.load.decided.Load() >= before+2*enough }); err != nil {
		return err
	}
	if err := pause(ctx, u.shape.Fault-time.Since(u.result.Broke)); err != nil {
		return err
	}
	if u.row.Heal != nil {
		if err := u.row.Heal(ctx, u.world); err != nil {
			return fmt.Errorf("heal: %w", err)
		}
	}
	u.result.Healed = time.Now()
	u.result.connectionsBefore = seen
	return nil
}

func (u *run) clean() bool { return u.load.clean.Load() >= enough }

// until waits for a condition.
func (u *run) until(ctx context.Context, what string, ok func() bool) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("not within a minute: %s; the store is %s, last: %v", what, u.rig.guard.State(), u.rig.watcher.last())
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
	return nil
}

func (w *watcher) last() []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.changes[max(0, len(w.changes)-3):])
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// count finds out what was charged and is held, when the load is over.
func (u *run) count(ctx context.Context) error {
	over := time.Now()
	u.result.shots, u.result.late = u.load.shots, u.load.late
	u.result.peak = u.sampler.peak()
	if err := u.until(ctx, "what was given back arrives", func() bool {
		s := u.rig.guard.Stats()
		return s.Queued == 0 && s.UnderWay == 0
	}); err != nil {
		return err
	}
	u.result.connections = u.connections(ctx) // before those of the auditor
	a, err := newAuditor(u.world.Auditor, u.rig)
	if err != nil {
		return err
	}
	defer a.close()
	var once []*shot
	for _, s := range u.result.shots {
		if s.kind == 0 {
			once = append(once, s)
		}
	}
	if err := u.slots(ctx, a, once, over); err != nil {
		return err
	}
	u.result.charges = make(map[*shot]int64, len(once))
	charges := make(chan struct{}, 1)
	err = a.all(once, func(s *shot) error {
		n, err := a.charged(ctx, s)
		charges <- struct{}{}
		u.result.charges[s] = n
		<-charges
		return err
	})
	if err != nil {
		return err
	}
	u.result.Stats = u.rig.guard.Stats()
	u.result.changes = u.rig.watcher.told()
	if u.row.Check != nil {
		return u.row.Check(ctx, u.world, u.result)
	}
	return nil
}

// slots waits until nobody holds a slot any more, for ten seconds at most, and
// notes how long that took and how many are held still.
func (u *run) slots(ctx context.Context, a *auditor, once []*shot, over time.Time) error {
	for {
		n, err := a.slotsHeld(ctx, once)
		u.result.SlotsHeld, u.result.SlotsFree = n, time.Since(over)
		if err != nil || n == 0 || time.Since(over) > 10*time.Second {
			return err
		}
	}
}
