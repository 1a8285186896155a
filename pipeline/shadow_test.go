package pipeline_test

import (
	"context"
	"slices"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

func TestShadowNeverRefuses(t *testing.T) {
	driver := newCounts(nil)
	driver.left["rate"] = 0
	o := newRecord()
	p := build(t, driver, o,
		pipeline.Entry{Name: "look", Mode: pipeline.Shadow, Stage: &looker{look: refuse(pipeline.FleetShed)}},
		pipeline.Entry{Name: "rate", Mode: pipeline.Shadow, Stage: &sharer{looker{}, claimOf(tokens(t, "rate"))}},
		pipeline.Entry{Name: "take", Mode: pipeline.Shadow, Stage: &taker{take: refuseTake(pipeline.WorkerShed)}},
	)
	if d := p.Acquire(t.Context(), &pipeline.Request{}); d.Verdict != pipeline.Admit {
		t.Errorf("got %+v", d)
	}
	if len(o.shadowed) != 1 || o.shadowed[0].Reason != pipeline.FleetShed || o.shadowed[0].Entry != 0 {
		t.Errorf("shadow refusals were %+v, want the first entry's alone: the virtual request had ended", o.shadowed)
	}
}

func TestAVirtualRefusalEndsTheVirtualRequest(t *testing.T) {
	shadowRate, realSlots := tokens(t, "shadow-rate"), slots(t, "real-slots")
	entries := func(tr *trace, last pipeline.Stage) []pipeline.Entry {
		return []pipeline.Entry{
			{Name: "rate", Mode: pipeline.Shadow, Stage: &sharer{looker{name: "rate", trace: tr}, claimOf(shadowRate)}},
			{Name: "slots", Stage: &sharer{looker{name: "slots", trace: tr}, claimOf(realSlots)}},
			{Name: "held", Mode: pipeline.Shadow, Stage: &taker{looker: looker{name: "held", trace: tr}}},
			{Name: "last", Mode: pipeline.Shadow, Stage: last},
			{Name: "later", Mode: pipeline.Shadow, Stage: &taker{looker: looker{name: "later", trace: tr}}},
		}
	}
	for _, c := range []struct {
		name   string
		last   pipeline.Stage
		left   int64 // of the shadow rate
		denied bool  // a refusal is remembered
		want   []string
	}{
		{
			"in the look: no claim is made, nothing later is asked", &taker{looker: looker{look: refuse(pipeline.WorkerShed)}}, 9, false,
			[]string{"look rate", "look slots", "look held", "claims slots", "store"},
		},
		{
			"in the look, beside a refusal: the claim is withdrawn", &taker{looker: looker{look: refuse(pipeline.WorkerShed)}}, 9, true,
			[]string{"look rate", "claims rate", "look slots", "claims slots", "look held", "store"},
		},
		{
			"in the store: no shadow permit is taken", &taker{}, 0, false,
			[]string{"look rate", "look slots", "look held", "look later", "claims rate", "claims slots", "store"},
		},
		{
			"in the take: what the virtual request held goes back", &taker{take: refuseTake(pipeline.WorkerShed)}, 9, false,
			[]string{"look rate", "look slots", "look held", "look later", "claims rate", "claims slots", "store", "take held", "release held", "return shadow-rate"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &trace{}
			driver := newCounts(tr)
			driver.left["shadow-rate"] = c.left
			o := newRecord()
			p := build(t, driver, o, entries(tr, c.last)...)
			r := &pipeline.Request{}
			if c.denied {
				r.Now = somethingDenied(t, p)
				tr.calls = nil
			}
			if d := p.Acquire(t.Context(), r); d.Verdict != pipeline.Admit {
				t.Fatalf("got %+v", d)
			}
			if !slices.Equal(tr.calls, c.want) {
				t.Errorf("the walk was\n%q\nwant\n%q", tr.calls, c.want)
			}
			if driver.out("shadow-rate") != 0 || driver.left["shadow-rate"] != c.left {
				t.Error("a virtual request that was refused is charged")
			}
			if driver.out("real-slots") != 1 {
				t.Error("the real request does not hold its slot")
			}
			p.Release(r, pipeline.Result{})
			if driver.out("real-slots") != 0 || len(o.shadowed) != 1 {
				t.Errorf("slots out %d, %d shadow refusals", driver.out("real-slots"), len(o.shadowed))
			}
		})
	}
}

func TestAShadowedRefusalLeavesNoTraceInTheDetail(t *testing.T) {
	driver := newCounts(nil)
	driver.left["shadow-rate"], driver.left["rate"] = 0, 5
	p := build(t, driver, nil,
		pipeline.Entry{Name: "shadow", Mode: pipeline.Shadow, Stage: &sharer{looker{}, claimOf(tokens(t, "shadow-rate"))}},
		pipeline.Entry{Name: "rate", Stage: &sharer{looker{}, claimOf(tokens(t, "rate"))}},
	)
	r := &pipeline.Request{}
	p.Acquire(t.Context(), r)
	if r.Detail.Rule != "rate" || r.Detail.Remaining != 5 {
		t.Errorf("the detail is %+v, want the enforced limit's", r.Detail)
	}
}

func TestInShadowNothingWaits(t *testing.T) {
	var noWait bool
	s := &waiter{taker: taker{take: func(_ context.Context, r *pipeline.Request) pipeline.Decision {
		noWait = r.NoWait
		return pipeline.Decision{}
	}}}
	for _, mode := range []pipeline.Mode{pipeline.Shadow, pipeline.Enforce} {
		p := build(t, nil, nil, pipeline.Entry{Name: "worker", Mode: mode, Stage: s})
		p.Acquire(t.Context(), &pipeline.Request{})
		if noWait != (mode == pipeline.Shadow) {
			t.Errorf("in %s the stage was told not to wait: %v", mode, noWait)
		}
	}
}

func TestOffIsNotAsked(t *testing.T) {
	tr := &trace{}
	p := build(t, newCounts(tr), nil,
		pipeline.Entry{Name: "rate", Mode: pipeline.Off, Stage: &sharer{looker{name: "rate", trace: tr}, claimOf(tokens(t, "rate"))}},
		pipeline.Entry{Name: "worker", Mode: pipeline.Off, Stage: &taker{looker: looker{name: "worker", trace: tr}}},
	)
	r := &pipeline.Request{}
	p.Acquire(t.Context(), r)
	p.Release(r, pipeline.Result{})
	if len(tr.calls) != 0 {
		t.Errorf("entries that are off were asked: %q", tr.calls)
	}
}

func TestARequestThatAsksARemoteStoreCountsAsQueued(t *testing.T) {
	tr := &trace{}
	w := &waiter{taker: taker{looker: looker{name: "worker", trace: tr}}}
	driver := newCounts(tr)
	rate := pipeline.Entry{Name: "rate", Stage: &sharer{looker{}, claimOf(tokens(t, "rate"))}}
	for _, c := range []struct {
		driver store.Driver
		fail   error
		panics bool
		asks   bool
	}{
		{driver: driver},
		{driver: remote{driver}, asks: true},
		{driver: remote{driver}, fail: errPlanted, asks: true},
		{driver: remote{driver}, panics: true, asks: true},
	} {
		tr.calls = nil
		driver.fail, driver.panics = c.fail, c.panics
		p := build(t, c.driver, nil, rate, pipeline.Entry{Name: "worker", Stage: w})
		p.Acquire(t.Context(), &pipeline.Request{})
		if asks := slices.Contains(tr.calls, "ask worker"); asks != c.asks || w.asking != 0 {
			t.Errorf("counted as queued %v and left at %d, want %v and 0", asks, w.asking, c.asks)
		}
	}
}
