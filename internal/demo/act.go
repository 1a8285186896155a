package demo

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// act is one run of the load: with the stages, or without them.
type act struct {
	name      string
	generator *load.Generator
	plan      load.Plan
	report    *load.Report
	clock     atomic.Int64 // nanoseconds since the first arrival could be due; 0 before
}

func newAct(name string, plan load.Plan, do load.Do) (*act, error) {
	g, err := load.New(load.Config{Plan: plan, Do: do})
	if err != nil {
		return nil, err
	}
	return &act{name: name, generator: g, plan: g.Plan(), report: g.Report()}, nil
}

// run offers the load, and calls frame every so often and once at the end.
func (a *act) run(ctx context.Context, every time.Duration, frame func()) error {
	start := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- a.generator.Run(ctx) }()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.clock.Store(int64(time.Since(start)))
			frame()
		case err := <-ended:
			a.clock.Store(int64(time.Since(start)))
			if err == nil {
				a.clock.Store(int64(a.plan.Length() + a.plan.Deadline)) // all of it can be judged
			}
			frame()
			return err
		}
	}
}

func (a *act) elapsed() time.Duration { return time.Duration(a.clock.Load()) }

// judged is the number of seconds whose arrivals have all met their deadlines.
func (a *act) judged() int { return a.report.Settled(a.elapsed()) }

// phase is the phase of the last second that is judged, or the first.
func (a *act) phase() int { return a.report.Seconds()[max(a.judged()-1, 0)].Phase }

// tally is what came of the arrivals of some seconds.
type tally struct {
	classes load.Cells
	all     load.Cell
	seconds float64
}

func (t *tally) class(c priority.Class) *load.Cell { return &t.classes[c.Index()] }

// rate is a count per second.
func (t *tally) rate(n int) float64 { return float64(n) / max(t.seconds, 1e-9) }

// of merges the seconds [from, to).
func (a *act) of(from, to int) *tally {
	t := &tally{classes: a.report.Between(from, to)}
	t.all = t.classes.All()
	for _, s := range a.report.Seconds()[from:max(from, to)] {
		t.seconds += s.Width.Seconds()
	}
	return t
}

// so is what came of a phase so far.
func (a *act) so(phase int) *tally {
	from, to := a.report.Phase(phase)
	return a.of(from, min(to, a.judged()))
}
