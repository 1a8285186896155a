package control

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"
)

// Run keeps this worker at the fleet's document until the context ends: it
// hears of changes, applies them, and ends what is over. Call it once, in a
// goroutine.
func (c *Control) Run(ctx context.Context) error {
	if c.running.Swap(true) {
		return errors.New("control: Run is running already")
	}
	defer c.running.Store(false)
	var group sync.WaitGroup
	group.Go(func() { c.watch(ctx) })
	group.Go(func() { c.follow(ctx) })
	c.loop(ctx)
	group.Wait()
	return ctx.Err()
}

// follow reads the fleet's document whenever it is due. It has a goroutine of
// its own: a storage that hangs does not hold up what ends, and what is changed
// for this worker alone.
func (c *Control) follow(ctx context.Context) {
	for ctx.Err() == nil {
		rest := c.shared.follow(ctx, c.config.Poll)
		poke(c.wake)
		sleep(ctx, rest, c.nudge)
	}
}

// Refresh reads both documents and applies them, as Run does all the time:
// what is to hold before the first request is served. The error says what
// could not be read; what could be holds.
func (c *Control) Refresh(ctx context.Context) error {
	read := errors.Join(c.local.refresh(ctx), c.shared.refresh(ctx))
	_, err := c.apply()
	return errors.Join(read, err)
}

func (c *Control) loop(ctx context.Context) {
	failures := firstPause
	for ctx.Err() == nil {
		rest := c.local.follow(ctx, c.config.Poll)
		until, err := c.apply()
		if err != nil {
			until = min(until, jittered(failures))
			failures = min(2*failures, lastPause)
		} else {
			failures = firstPause
		}
		sleep(ctx, min(rest, until), c.wake)
	}
}

// sleep waits for what is next.
func sleep(ctx context.Context, rest time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// apply makes what is active hold, and says how long that is true.
func (c *Control) apply() (rest time.Duration, err error) {
	c.applying.Lock()
	defer c.applying.Unlock()
	active, next := c.active(time.Now())
	rest = c.config.Poll
	if next >= 0 {
		rest = min(rest, next)
	}
	if v := c.shared.current(); v.state == nil && v.err == nil && len(active) == 0 {
		return rest, nil // it is being read for the first time
	}
	e := Compile(active, c.config.Worker)
	e.Version, e.Local = c.shared.version(), c.local.version()
	again := c.reapply.Swap(false)
	c.mu.Lock()
	last := c.applied
	c.mu.Unlock()
	if !again && last.err == nil && last.times > 0 && alike(&e, &last.effects) {
		return rest, nil
	}
	now := applied{effects: e, at: time.Now(), times: last.times + 1}
	if c.config.Apply != nil {
		now.unmet, now.err = c.config.Apply(e)
	}
	c.tell(active, &now)
	c.mu.Lock()
	c.applied = now
	c.mu.Unlock()
	c.announce()
	return rest, now.err
}

// alike compares effects.
func alike(a, b *Effects) bool {
	return a.Version == b.Version && a.Local == b.Local && reflect.DeepEqual(a, b)
}

// tell logs what ended, and what is not in effect.
func (c *Control) tell(active []Override, now *applied) {
	before := c.told
	c.told = map[string]bool{}
	for i := range active {
		c.told[active[i].ID] = true
		delete(before, active[i].ID)
	}
	for id := range before {
		c.config.Log.Info("override ended", "override", id)
	}
	for id, why := range now.unmet {
		c.config.Log.Warn("override not in effect here", "override", id, "why", why)
	}
	if now.err != nil {
		c.config.Log.Error("overrides could not be applied, what held before goes on", "error", now.err)
	}
}

// watch hears the pushes.
func (c *Control) watch(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := c.config.Storage.Watch(ctx, c.Changed)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		c.config.Log.Debug("changes are not pushed for the moment", "error", err)
		sleep(ctx, jittered(pause), nil)
		pause = min(2*pause, lastPause)
		c.Changed()
	}
}

func (b *book) version() uint64 {
	if v := b.current(); v.state != nil {
		return v.state.Version
	}
	return 0
}
