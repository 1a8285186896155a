package pipeline_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// roomy says how much room it has.
type roomy struct{ taker }

func (*roomy) Spare(*pipeline.Request) (left, of int64) { return 3, 4 }

func owned(l *store.Limit) func(*pipeline.Request) []store.Claim {
	return func(*pipeline.Request) []store.Claim { return []store.Claim{{Limit: l, Cost: 2}} }
}

// explained is a pipeline on a real store with one entry of each kind.
func explained(t *testing.T, o pipeline.Observer, tr *trace, rate *store.Limit) (*pipeline.Pipeline, *store.Guard) {
	t.Helper()
	table, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	guard := store.NewGuard(table, store.GuardConfig{})
	plan, err := pipeline.NewPlan(
		pipeline.Entry{Name: "off", Mode: pipeline.Off, Stage: &looker{name: "off", trace: tr}},
		pipeline.Entry{Name: "trial", Mode: pipeline.Shadow, Stage: &looker{look: refuse(pipeline.FleetShed)}},
		pipeline.Entry{Name: "rate", Stage: &sharer{looker{}, owned(rate)}},
		pipeline.Entry{Name: "room", Stage: &roomy{taker{looker: looker{name: "room", trace: tr}}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Store: guard, Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	return p, guard
}

// Every entry is asked, and nothing is taken, however often somebody asks.
func TestExplainTakesNothing(t *testing.T) {
	rate, err := store.NewTokens("rate", store.TokenBucket, limit.Per(1, time.Hour), 5)
	if err != nil {
		t.Fatal(err)
	}
	o, tr := newRecord(), &trace{}
	p, guard := explained(t, o, tr, rate)
	for range 4 {
		x := p.Explain(t.Context(), &pipeline.Request{})
		e := x.Entries
		switch {
		case x.Decision.Verdict != pipeline.Admit || len(e) != 4:
			t.Fatalf("got %+v", x)
		case e[0].Asked || e[0].Decision.Verdict != pipeline.Admit:
			t.Errorf("the entry that is off: %+v", e[0])
		case e[1].Decision.Reason != pipeline.FleetShed || e[1].Decision.Entry != 1:
			t.Errorf("the entry in shadow: %+v", e[1])
		case len(e[2].Claims) != 1 || !e[2].Claims[0].Grant.OK || e[2].Claims[0].Grant.Remaining != 3 || e[2].Detail.Remaining != 3:
			t.Errorf("a bucket of 5 asked for 2: %+v", e[2])
		case e[3].Left != 3 || e[3].Of != 4:
			t.Errorf("room: %+v", e[3])
		}
	}
	if len(o.shadowed)+len(o.decided) > 0 || slices.Contains(tr.calls, "take room") || slices.Contains(tr.calls, "look off") || p.InFlight() != 0 {
		t.Errorf("it was told of, or taken: %v %v", o.shadowed, tr.calls)
	}
	if guard.Remembers(p.Now()) {
		t.Error("a refusal is remembered")
	}
}

func TestExplainTellsWhoRefuses(t *testing.T) {
	rate, err := store.NewTokens("rate", store.TokenBucket, limit.Per(1, time.Hour), 3)
	if err != nil {
		t.Fatal(err)
	}
	p, guard := explained(t, nil, nil, rate)
	r := &pipeline.Request{}
	if d := p.Acquire(t.Context(), r); d.Verdict != pipeline.Admit {
		t.Fatal(d)
	}
	p.Release(r, pipeline.Result{})
	x := p.Explain(t.Context(), r)
	if x.Decision.Reason != pipeline.RateLimited || x.Decision.Entry != 2 || x.Detail.Rule != "rate" || x.Detail.RetryAfter <= 0 {
		t.Errorf("got %+v", x)
	}
	if guard.Remembers(p.Now()) {
		t.Error("to look made the store's memory say something")
	}
	if r.Trial || r.NoWait {
		t.Error("the request stays on trial")
	}
}

// What could not decide is told with why, and with what its policy makes of it.
func TestExplainTellsFaults(t *testing.T) {
	driver := newCounts(nil)
	driver.fail = errors.New("gone")
	boom := &looker{look: func(*pipeline.Request) pipeline.Decision { panic("boom") }}
	p := build(t, driver, nil,
		pipeline.Entry{Name: "open", OnFault: pipeline.Open, Stage: boom},
		pipeline.Entry{Name: "rate", OnFault: pipeline.Open, Stage: &sharer{looker{}, claimOf(tokens(t, "rate"))}},
		pipeline.Entry{Name: "closed", OnFault: pipeline.Closed, Stage: &sharer{looker{}, claimOf(tokens(t, "other"))}},
	)
	x := p.Explain(t.Context(), &pipeline.Request{})
	for i, e := range x.Entries {
		if e.Err == nil || (e.Decision.Verdict == pipeline.Admit) != (i < 2) {
			t.Errorf("%s: %+v", e.Entry.Name, e)
		}
	}
	if x.Decision.Reason != pipeline.StoreUnavailable || x.Decision.Entry != 2 {
		t.Errorf("got %+v", x.Decision)
	}
}
