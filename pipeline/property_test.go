package pipeline_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// TestRandomPlansKeepThePromises draws plans of every mode and policy whose
// stages refuse, panic and meet a failing store, and holds the pipeline to
// what it promises of any plan.
func TestRandomPlansKeepThePromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		o := newRecord()
		plan, err := pipeline.NewPlan(w.entries...)
		if err != nil {
			rt.Fatal(err)
		}
		p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: o, Store: store.NewGuard(w.driver, store.GuardConfig{Local: w.local})})
		if err != nil {
			rt.Fatal(err)
		}
		var open []*pipeline.Request
		offered := rapid.IntRange(1, 20).Draw(rt, "requests")
		for range offered {
			w.driver.fail, w.driver.panics = nil, false
			switch rapid.IntRange(0, 9).Draw(rt, "store") {
			case 0:
				w.driver.fail = errPlanted
			case 1:
				w.driver.panics = true
			}
			r := &pipeline.Request{}
			d := p.Acquire(context.Background(), r)
			w.checkVerdict(rt, d)
			if d.Verdict == pipeline.Admit {
				open = append(open, r)
			}
			if len(open) > 0 && rapid.Bool().Draw(rt, "release one") {
				p.Release(open[0], pipeline.Result{Outcome: drawOutcome(rt)})
				open = open[1:]
			}
		}
		if p.InFlight() != len(open) {
			rt.Fatalf("%d in flight, want %d", p.InFlight(), len(open))
		}
		admitted := o.decided[pipeline.Admit]
		for _, r := range open {
			p.Release(r, pipeline.Result{Outcome: drawOutcome(rt)})
			p.Release(r, pipeline.Result{Outcome: drawOutcome(rt)})
		}
		w.checkNothingHeld(rt)
		if o.decisions != offered || len(o.released) != admitted {
			rt.Fatalf("offered %d, decided %d; admitted %d, released %d", offered, o.decisions, admitted, len(o.released))
		}
		if len(o.shadowed) > offered {
			rt.Fatalf("%d shadow refusals of %d requests: a virtual request ends once", len(o.shadowed), offered)
		}
	})
}

// world is a drawn plan and all that can be held in it.
type world struct {
	entries       []pipeline.Entry
	takers        []*taker
	driver, local *counts
	slotNames     []string
}

func drawWorld(rt *rapid.T) *world {
	w := &world{driver: newCounts(nil), local: newCounts(nil)}
	for i := range rapid.IntRange(0, 6).Draw(rt, "entries") {
		e := pipeline.Entry{
			Name:    fmt.Sprintf("entry-%d", i),
			Mode:    rapid.SampledFrom([]pipeline.Mode{pipeline.Enforce, pipeline.Shadow, pipeline.Off}).Draw(rt, "mode"),
			OnFault: rapid.SampledFrom([]pipeline.FaultPolicy{pipeline.Local, pipeline.Open, pipeline.Closed}).Draw(rt, "policy"),
		}
		does := func(where string) func() pipeline.Decision { return drawBehaviour(rt, where) }
		look := does("look")
		base := looker{look: func(*pipeline.Request) pipeline.Decision { return look() }}
		switch rapid.IntRange(0, 2).Draw(rt, "kind") {
		case 0:
			e.Stage = &base
		case 1:
			take, release := does("take"), does("release")
			s := &taker{looker: base}
			s.take = func(context.Context, *pipeline.Request) pipeline.Decision { return take() }
			s.release = func(*pipeline.Request, pipeline.Permit, pipeline.Result) { release() }
			w.takers = append(w.takers, s)
			e.Stage = s
		case 2:
			e.Stage = w.drawSharer(rt, base, i)
		}
		w.entries = append(w.entries, e)
	}
	return w
}

func (w *world) drawSharer(rt *rapid.T, base looker, i int) pipeline.Stage {
	name := fmt.Sprintf("slots-%d", i)
	w.slotNames = append(w.slotNames, name)
	limit, err := store.NewSlots(name, 1, 10e9)
	if err != nil {
		rt.Fatal(err)
	}
	for _, d := range []*counts{w.driver, w.local} {
		d.left[name] = rapid.Int64Range(0, 5).Draw(rt, "slots")
	}
	claims := drawBehaviour(rt, "claims")
	return &sharer{base, func(r *pipeline.Request) []store.Claim { claims(); return claimOf(limit)(r) }}
}

// drawBehaviour is a stage's habit: mostly it admits, at times it refuses or
// panics.
func drawBehaviour(rt *rapid.T, where string) func() pipeline.Decision {
	habit := rapid.SliceOfN(rapid.SampledFrom([]string{"admit", "admit", "admit", "admit", "refuse", "panic"}), 1, 4).Draw(rt, where)
	calls := 0
	return func() pipeline.Decision {
		calls++
		switch habit[calls%len(habit)] {
		case "refuse":
			return pipeline.Refuse(pipeline.FleetShed)
		case "panic":
			panic("planted panic")
		}
		return pipeline.Decision{}
	}
}

func drawOutcome(rt *rapid.T) pipeline.Outcome {
	return rapid.SampledFrom([]pipeline.Outcome{pipeline.Completed, pipeline.Dropped, pipeline.Ignored, pipeline.NotRun}).Draw(rt, "outcome")
}

func (w *world) checkVerdict(rt *rapid.T, d pipeline.Decision) {
	switch d.Verdict {
	case pipeline.Admit:
		if d.Reason != pipeline.None {
			rt.Fatalf("admitted for a reason: %+v", d)
		}
	case pipeline.Reject:
		e := w.entries[d.Entry]
		if d.Reason == pipeline.None || e.Mode != pipeline.Enforce {
			rt.Fatalf("refused without a reason, or by an entry in %s: %+v", e.Mode, d)
		}
		if d.Reason == pipeline.StoreUnavailable && e.OnFault != pipeline.Closed {
			rt.Fatalf("refused as store-unavailable by an entry whose policy is %s", e.OnFault)
		}
	case pipeline.Abandon:
		rt.Fatal("abandoned, while no client left")
	}
}

func (w *world) checkNothingHeld(rt *rapid.T) {
	for _, s := range w.takers {
		if s.holding() != 0 {
			rt.Fatalf("a stage is left holding %d", s.holding())
		}
	}
	for _, name := range w.slotNames {
		if w.driver.out(name) != 0 || w.local.out(name) != 0 {
			rt.Fatalf("%s: %d held in the store and %d in the local one", name, w.driver.out(name), w.local.out(name))
		}
	}
}
