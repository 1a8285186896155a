package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Do sends one arrival and waits for its answer. It is called concurrently, and
// must return soon after ctx ends, which is at the arrival's deadline.
type Do func(ctx context.Context, a Arrival) Answer

// DefaultOutstanding bounds the arrivals that wait for an answer.
const DefaultOutstanding = 8192

// Config sets a generator.
type Config struct {
	// Plan is what to offer; see its fields. Required.
	Plan Plan
	// Do sends one arrival. Required.
	Do Do
	// Outstanding is how many arrivals may wait for their answers at once;
	// further ones are counted as unsent. Above 0; default DefaultOutstanding.
	Outstanding int
}

// Generator offers the arrivals of one plan, once.
type Generator struct {
	plan        Plan
	do          Do
	limit       int64
	report      *Report
	start       time.Time
	started     atomic.Bool
	outstanding atomic.Int64
}

// New checks a configuration. It starts nothing.
func New(c Config) (*Generator, error) {
	plan, err := c.Plan.prepared()
	if c.Do == nil {
		err = errors.Join(err, errors.New("load: a Do is needed"))
	}
	if c.Outstanding < 0 {
		err = errors.Join(err, errors.New("load: outstanding must be above 0"))
	}
	if err != nil {
		return nil, err
	}
	if c.Outstanding == 0 {
		c.Outstanding = DefaultOutstanding
	}
	return &Generator{plan: plan, do: c.Do, limit: int64(c.Outstanding), report: newReport(&plan)}, nil
}

// Plan is what is offered, with its defaults filled in.
func (g *Generator) Plan() Plan { return g.plan }

// Report is what has been counted, before, during and after the run.
func (g *Generator) Report() *Report { return g.report }

// Outstanding is how many arrivals wait for their answers now.
func (g *Generator) Outstanding() int { return int(g.outstanding.Load()) }

// Run offers the plan and returns when every arrival has come to an end. When
// ctx ends, it offers no more, gives up on those outstanding, and returns
// ctx's error. It runs once.
func (g *Generator) Run(ctx context.Context) error {
	if g.started.Swap(true) {
		return errors.New("load: a generator runs once")
	}
	var group sync.WaitGroup
	defer group.Wait()
	g.start = time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	second := 0
	for a := range g.plan.Arrivals() {
		if !g.await(ctx, timer, a.At) {
			return ctx.Err()
		}
		for a.At >= g.report.seconds[second].To() || a.Phase != g.report.seconds[second].Phase {
			second++
		}
		g.send(ctx, &group, second, a)
	}
	if !g.await(ctx, timer, g.plan.Length()) {
		return ctx.Err()
	}
	return nil
}

// await waits until a moment of the run; false means that ctx ended.
func (g *Generator) await(ctx context.Context, timer *time.Timer, at time.Duration) bool {
	if wait := at - time.Since(g.start); wait > 0 {
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// send counts an arrival as offered and starts it, if it can be sent at all.
func (g *Generator) send(ctx context.Context, group *sync.WaitGroup, second int, a Arrival) {
	planned := g.start.Add(a.At)
	a.Due = planned.Add(g.plan.Deadline)
	late := time.Since(planned)
	g.report.offered(second, &a, late)
	if late >= g.plan.Deadline || g.outstanding.Load() >= g.limit {
		g.report.unsent(second, &a)
		return
	}
	g.outstanding.Add(1)
	group.Go(func() {
		defer g.outstanding.Add(-1)
		within, cancel := context.WithDeadline(ctx, a.Due)
		defer cancel()
		answer := g.do(within, a)
		if ctx.Err() != nil && answer.Outcome == GaveUp {
			return // the run was broken off: nobody knows how this one would have ended
		}
		g.report.ended(second, &a, answer, time.Since(planned))
	})
}
