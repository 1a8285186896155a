package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

func TestLookThenStoreThenTake(t *testing.T) {
	tr := &trace{}
	driver := newCounts(tr)
	w := &waiter{taker: taker{looker: looker{name: "worker", trace: tr}}}
	p := build(t, driver, nil,
		pipeline.Entry{Name: "rate", Stage: &sharer{looker{name: "rate", trace: tr}, claimOf(tokens(t, "rate"))}},
		pipeline.Entry{Name: "fleet", Stage: &taker{looker: looker{name: "fleet", trace: tr}}},
		pipeline.Entry{Name: "slots", Stage: &sharer{looker{name: "slots", trace: tr}, claimOf(slots(t, "slots"))}},
		pipeline.Entry{Name: "worker", Stage: w},
	)
	r := &pipeline.Request{}
	if d := p.Acquire(t.Context(), r); d.Verdict != pipeline.Admit {
		t.Fatalf("got %+v", d)
	}
	p.Release(r, pipeline.Result{})
	want := []string{
		"look rate", "look fleet", "look slots", "look worker",
		"claims rate", "claims slots",
		"store",
		"take fleet", "take worker",
		"release worker", "release fleet", "return slots",
	}
	if !slices.Equal(tr.calls, want) {
		t.Errorf("the walk was\n%s\nwant\n%s", strings.Join(tr.calls, "\n"), strings.Join(want, "\n"))
	}
	if driver.called != 1 {
		t.Errorf("the store was called %d times, want once", driver.called)
	}
}

func TestRefusalInTheLookReachesNeitherStoreNorTake(t *testing.T) {
	tr := &trace{}
	p := build(t, newCounts(tr), nil,
		pipeline.Entry{Name: "rate", Stage: &sharer{looker{name: "rate", trace: tr}, claimOf(tokens(t, "rate"))}},
		pipeline.Entry{Name: "fleet", Stage: &taker{looker: looker{name: "fleet", trace: tr, look: refuse(pipeline.FleetShed)}}},
		pipeline.Entry{Name: "worker", Stage: &taker{looker: looker{name: "worker", trace: tr}}},
	)
	d := p.Acquire(t.Context(), &pipeline.Request{})
	if d.Verdict != pipeline.Reject || d.Reason != pipeline.FleetShed || d.Entry != 1 {
		t.Errorf("got %+v, want a refusal for fleet-shed by entry 1", d)
	}
	if want := []string{"look rate", "look fleet"}; !slices.Equal(tr.calls, want) {
		t.Errorf("the walk was %q, want %q", tr.calls, want)
	}
	tr.calls = nil
	p.Acquire(t.Context(), &pipeline.Request{Now: somethingDenied(t, p)})
	if want := []string{"store", "look rate", "claims rate", "look fleet"}; !slices.Equal(tr.calls, want) {
		t.Errorf("beside a refusal that is remembered the walk was %q, want %q", tr.calls, want)
	}
}

func TestRefusedTakeUnwindsLastInFirstOut(t *testing.T) {
	tr := &trace{}
	driver := newCounts(tr)
	first := &taker{looker: looker{name: "first", trace: tr}}
	second := &taker{looker: looker{name: "second", trace: tr}}
	p := build(t, driver, nil,
		pipeline.Entry{Name: "rate", Stage: &sharer{looker{name: "rate"}, claimOf(tokens(t, "rate"), slots(t, "slots"))}},
		pipeline.Entry{Name: "first", Stage: first},
		pipeline.Entry{Name: "second", Stage: second},
		pipeline.Entry{Name: "last", Stage: &taker{looker: looker{name: "last"}, take: refuseTake(pipeline.WorkerShed)}},
	)
	if d := p.Acquire(t.Context(), &pipeline.Request{}); d.Reason != pipeline.WorkerShed {
		t.Fatalf("got %+v", d)
	}
	after := tr.calls[slices.Index(tr.calls, "take second")+1:]
	if want := []string{"release second", "release first", "return rate", "return slots"}; !slices.Equal(after, want) {
		t.Errorf("unwound %q, want %q", after, want)
	}
	if driver.out("rate") != 0 || driver.out("slots") != 0 || first.holding() != 0 || second.holding() != 0 {
		t.Error("something is still held after a refusal")
	}
}

func TestReleaseActsOnceWhoeverCalls(t *testing.T) {
	driver := newCounts(nil)
	s := &taker{}
	o := newRecord()
	p := build(t, driver, o,
		pipeline.Entry{Name: "slots", Stage: &sharer{looker{}, claimOf(slots(t, "slots"))}},
		pipeline.Entry{Name: "worker", Stage: s},
	)
	r := &pipeline.Request{}
	p.Acquire(t.Context(), r)
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() { p.Release(r, pipeline.Result{}) })
	}
	group.Wait()
	if s.holding() != 0 || driver.out("slots") != 0 || len(o.released) != 1 || p.InFlight() != 0 {
		t.Errorf("held %d, slots out %d, released %d times, in flight %d; want 0, 0, 1, 0",
			s.holding(), driver.out("slots"), len(o.released), p.InFlight())
	}
}

func TestReleaseWithoutAdmissionDoesNothing(t *testing.T) {
	o := newRecord()
	p := build(t, nil, o, pipeline.Entry{Name: "worker", Stage: &taker{take: refuseTake(pipeline.WorkerShed)}})
	r := &pipeline.Request{}
	p.Release(r, pipeline.Result{})
	p.Acquire(t.Context(), r)
	p.Release(r, pipeline.Result{})
	if len(o.released) != 0 {
		t.Errorf("released %d times", len(o.released))
	}
}

func TestWhatGoesBackAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		name        string
		result      pipeline.Result
		chargeAfter bool
		tokens      int64 // that stay spent
	}{
		{"completed work keeps its charge", pipeline.Result{}, false, 1},
		{"dropped work keeps its charge", pipeline.Result{Outcome: pipeline.Dropped}, false, 1},
		{"work that did not run costs nothing", pipeline.Result{Outcome: pipeline.NotRun}, false, 0},
		{"a reported cost is ignored by ordinary limits", pipeline.Result{Cost: 7}, false, 1},
		{"a reported cost settles limits that charge afterwards", pipeline.Result{Cost: 7}, true, 7},
		{"no reported cost leaves the reservation", pipeline.Result{}, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			driver := newCounts(nil)
			l := tokens(t, "rate")
			l.ChargeAfter = c.chargeAfter
			p := build(t, driver, nil, pipeline.Entry{Name: "rate", Stage: &sharer{looker{}, claimOf(l, slots(t, "slots"))}})
			r := &pipeline.Request{}
			p.Acquire(t.Context(), r)
			p.Release(r, c.result)
			if driver.out("rate") != c.tokens || driver.out("slots") != 0 {
				t.Errorf("tokens spent %d, slots held %d; want %d, 0", driver.out("rate"), driver.out("slots"), c.tokens)
			}
		})
	}
}

func TestAPanicIsTheEntrysFaultPolicy(t *testing.T) {
	inLook := func(policy pipeline.FaultPolicy, mode pipeline.Mode) pipeline.Entry {
		return pipeline.Entry{Name: "bad", OnFault: policy, Mode: mode, Stage: &looker{look: panicLook}}
	}
	inTake := func(policy pipeline.FaultPolicy, mode pipeline.Mode) pipeline.Entry {
		return pipeline.Entry{Name: "bad", OnFault: policy, Mode: mode, Stage: &taker{
			take: func(context.Context, *pipeline.Request) pipeline.Decision { panic("planted panic") },
		}}
	}
	inClaims := func(policy pipeline.FaultPolicy, mode pipeline.Mode) pipeline.Entry {
		return pipeline.Entry{Name: "bad", OnFault: policy, Mode: mode, Stage: &sharer{looker{}, func(*pipeline.Request) []store.Claim {
			panic("planted panic")
		}}}
	}
	for where, bad := range map[string]func(pipeline.FaultPolicy, pipeline.Mode) pipeline.Entry{"look": inLook, "take": inTake, "claims": inClaims} {
		for _, c := range []struct {
			policy pipeline.FaultPolicy
			mode   pipeline.Mode
			want   pipeline.Reason
		}{
			{pipeline.Open, pipeline.Enforce, pipeline.None},
			{pipeline.Local, pipeline.Enforce, pipeline.None},
			{pipeline.Closed, pipeline.Enforce, pipeline.StoreUnavailable},
			{pipeline.Closed, pipeline.Shadow, pipeline.None},
		} {
			t.Run(fmt.Sprintf("in %s, %s, %s", where, c.policy, c.mode), func(t *testing.T) {
				driver := newCounts(nil)
				before, after := &taker{}, &taker{}
				o := newRecord()
				p := build(t, driver, o,
					pipeline.Entry{Name: "slots", Stage: &sharer{looker{}, claimOf(slots(t, "slots"))}},
					pipeline.Entry{Name: "before", Stage: before}, bad(c.policy, c.mode), pipeline.Entry{Name: "after", Stage: after})
				r := &pipeline.Request{}
				d := p.Acquire(t.Context(), r)
				if d.Reason != c.want {
					t.Fatalf("got %+v, want reason %q", d, c.want)
				}
				if d.Verdict == pipeline.Admit && (before.holding() != 1 || after.holding() != 1) {
					t.Error("an entry beside the one that panicked was not asked")
				}
				p.Release(r, pipeline.Result{})
				if before.holding() != 0 || after.holding() != 0 || driver.out("slots") != 0 || p.InFlight() != 0 {
					t.Error("a permit leaked")
				}
				if o.count(pipeline.PanicFault) != 1 {
					t.Errorf("%d panics were observed, want 1", o.count(pipeline.PanicFault))
				}
			})
		}
	}
}

func TestAPanicInReleaseKeepsNoOtherPermit(t *testing.T) {
	driver := newCounts(nil)
	good := &taker{}
	bad := &taker{release: func(*pipeline.Request, pipeline.Permit, pipeline.Result) { panic("planted panic") }}
	p := build(t, driver, nil,
		pipeline.Entry{Name: "slots", Stage: &sharer{looker{}, claimOf(slots(t, "slots"))}},
		pipeline.Entry{Name: "good", Stage: good}, pipeline.Entry{Name: "bad", Stage: bad})
	r := &pipeline.Request{}
	p.Acquire(t.Context(), r)
	p.Release(r, pipeline.Result{})
	if good.holding() != 0 || driver.out("slots") != 0 || p.InFlight() != 0 {
		t.Error("a permit leaked")
	}
}

func TestAnEntryThatPanicsAgainAndAgainIsSwitchedOff(t *testing.T) {
	for policy, want := range map[pipeline.FaultPolicy]int{pipeline.Open: 0, pipeline.Local: 0, pipeline.Closed: 100} {
		t.Run(policy.String(), func(t *testing.T) {
			o := newRecord()
			asked := 0
			s := &looker{look: func(*pipeline.Request) pipeline.Decision { asked++; panic("planted panic") }}
			p := build(t, nil, o, pipeline.Entry{Name: "bad", OnFault: policy, Stage: s})
			refused := 0
			for range 100 {
				if p.Acquire(t.Context(), &pipeline.Request{}).Reason == pipeline.StoreUnavailable {
					refused++
				}
			}
			if refused != want || asked != 16 || o.count(pipeline.SwitchedOff) != 1 {
				t.Errorf("refused %d requests of 100, asked the stage %d times, switched off %d times; want %d, 16 and once",
					refused, asked, o.count(pipeline.SwitchedOff), want)
			}
		})
	}
}

func TestAStoreFaultIsEachEntrysPolicy(t *testing.T) {
	for _, fault := range []string{"error", "panic"} {
		for _, c := range []struct {
			policy pipeline.FaultPolicy
			mode   pipeline.Mode
			want   pipeline.Reason
		}{
			{pipeline.Open, pipeline.Enforce, pipeline.None},
			{pipeline.Closed, pipeline.Enforce, pipeline.StoreUnavailable},
			{pipeline.Closed, pipeline.Shadow, pipeline.None},
			{pipeline.Local, pipeline.Enforce, pipeline.None},
		} {
			t.Run(fmt.Sprintf("%s, %s, %s", fault, c.policy, c.mode), func(t *testing.T) {
				driver := newCounts(nil)
				driver.fail, driver.panics = errPlanted, fault == "panic"
				local := newCounts(nil)
				plan, err := pipeline.NewPlan(
					pipeline.Entry{Name: "rate", OnFault: c.policy, Mode: c.mode, Stage: &sharer{looker{}, claimOf(tokens(t, "rate"), slots(t, "slots"))}},
				)
				if err != nil {
					t.Fatal(err)
				}
				o := newRecord()
				p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: o, Store: store.NewGuard(driver, store.GuardConfig{Local: local})})
				if err != nil {
					t.Fatal(err)
				}
				r := &pipeline.Request{}
				d := p.Acquire(t.Context(), r)
				if d.Reason != c.want {
					t.Fatalf("got %+v, want reason %q", d, c.want)
				}
				if asked := local.out("slots") == 1; asked != (c.policy == pipeline.Local) {
					t.Errorf("the local store was asked: %v", asked)
				}
				p.Release(r, pipeline.Result{})
				if local.out("slots") != 0 || driver.out("slots") != 0 {
					t.Error("a slot leaked, or came back to another store than granted it")
				}
				if o.count(pipeline.StoreFault) != 1 {
					t.Errorf("%d store faults were observed, want 1", o.count(pipeline.StoreFault))
				}
			})
		}
	}
}

func TestARefusalByTheStoreIsNotAFault(t *testing.T) {
	driver := newCounts(nil)
	driver.left["rate"] = 0
	local := newCounts(nil)
	plan, _ := pipeline.NewPlan(pipeline.Entry{Name: "rate", OnFault: pipeline.Local, Stage: &sharer{looker{}, claimOf(tokens(t, "rate"))}})
	p, err := pipeline.New(pipeline.Config{Plan: plan, Store: store.NewGuard(driver, store.GuardConfig{Local: local})})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Acquire(t.Context(), &pipeline.Request{}); d.Reason != pipeline.RateLimited || local.called != 0 {
		t.Errorf("got %+v with %d local calls, want rate-limited and none", d, local.called)
	}
}

func TestPlansAreChecked(t *testing.T) {
	s := &looker{}
	w := func() pipeline.Stage { return &waiter{} }
	for name, c := range map[string]struct {
		entries []pipeline.Entry
		want    string
	}{
		"no name":             {[]pipeline.Entry{{Stage: s}}, "entries[0] needs a name"},
		"twice the same name": {[]pipeline.Entry{{Name: "a", Stage: s}, {Name: "a", Stage: s}}, `the name "a" is taken`},
		"no stage":            {[]pipeline.Entry{{Name: "a"}}, "entries[0] (a) has no stage"},
		"two that wait":       {[]pipeline.Entry{{Name: "a", Stage: w()}, {Name: "b", Stage: w()}}, "one entry may"},
		"waits too early":     {[]pipeline.Entry{{Name: "a", Stage: w()}, {Name: "b", Stage: &taker{}}}, "must come after b"},
		"too many":            {slices.Repeat([]pipeline.Entry{{Name: "a", Stage: s}}, 33), "at most 32"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pipeline.NewPlan(c.entries...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestAPlanThatSharesNeedsAStore(t *testing.T) {
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "rate", Stage: &sharer{looker{}, claimOf()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.New(pipeline.Config{Plan: plan}); err == nil {
		t.Error("a plan with a sharing stage was taken without a store")
	}
}

func TestSwapUnderLoadLosesNothing(t *testing.T) {
	driver := newCounts(nil)
	o := newRecord()
	s := &taker{}
	plans := make([]*pipeline.Plan, 4)
	for i := range plans {
		entries := []pipeline.Entry{
			{Name: "slots", Stage: &sharer{looker{}, claimOf(slots(t, "slots"))}},
			{Name: "worker", Stage: s, Mode: pipeline.Mode(i % 3)},
		}
		var err error
		if plans[i], err = pipeline.NewPlan(entries[:1+i%2]...); err != nil {
			t.Fatal(err)
		}
	}
	p := build(t, driver, o)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 2000 {
				r := &pipeline.Request{}
				if p.Acquire(t.Context(), r).Verdict == pipeline.Admit {
					p.Release(r, pipeline.Result{})
				}
			}
		})
	}
	group.Go(func() {
		for i := range 2000 {
			if err := p.Swap(plans[i%len(plans)]); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	if s.holding() != 0 || driver.out("slots") != 0 || p.InFlight() != 0 || o.decisions != 16000 {
		t.Errorf("held %d, slots %d, in flight %d, decisions %d; want 0, 0, 0, 16000", s.holding(), driver.out("slots"), p.InFlight(), o.decisions)
	}
}

func TestAClientThatLeavesAbandons(t *testing.T) {
	first := &taker{}
	p := build(t, nil, nil, pipeline.Entry{Name: "first", Stage: first},
		pipeline.Entry{Name: "queue", Mode: pipeline.Enforce, Stage: &taker{take: func(ctx context.Context, _ *pipeline.Request) pipeline.Decision {
			<-ctx.Done()
			return pipeline.Decision{Verdict: pipeline.Abandon}
		}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d := p.Acquire(ctx, &pipeline.Request{}); d.Verdict != pipeline.Abandon || d.Reason != pipeline.None {
		t.Errorf("got %+v", d)
	}
	if first.holding() != 0 {
		t.Error("an abandoned request holds a permit")
	}
}

func TestAcquireOfARequestInFlightIsSaid(t *testing.T) {
	p := build(t, nil, nil)
	r := &pipeline.Request{}
	p.Acquire(t.Context(), r)
	defer func() {
		if recover() == nil {
			t.Error("a request that is in flight was acquired again in silence")
		}
	}()
	p.Acquire(t.Context(), r)
}
