package admin

import (
	"reflect"
	"sync"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// refusing is a stage that refuses one class, for a reason, or panics.
type refusing struct {
	class  priority.Class
	reason pipeline.Reason
	panics bool
}

func (s refusing) Look(r *pipeline.Request) pipeline.Decision {
	switch {
	case r.Class != s.class:
		return pipeline.Decision{}
	case s.panics:
		panic("planted")
	}
	return pipeline.Refuse(s.reason)
}

// watched is a pipeline that a Telemetry observes.
func watched(t testing.TB, entries ...pipeline.Entry) (*pipeline.Pipeline, *telemetry.Telemetry) {
	t.Helper()
	plan, err := pipeline.NewPlan(entries...)
	if err != nil {
		t.Fatal(err)
	}
	counted := counted(t)
	p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: counted})
	if err != nil {
		t.Fatal(err)
	}
	return p, counted
}

func send(p *pipeline.Pipeline, class priority.Class) {
	r := &pipeline.Request{Class: class}
	if d := p.Acquire(testContext, r); d.Verdict == pipeline.Admit {
		p.Release(r, pipeline.Result{})
	}
}

func TestEachDecisionIsCountedOnce(t *testing.T) {
	p, counted := watched(t,
		pipeline.Entry{Name: "first", Stage: refusing{class: priority.Low, reason: pipeline.RateLimited}},
		pipeline.Entry{Name: "trial", Mode: pipeline.Shadow, Stage: refusing{class: priority.High, reason: pipeline.FleetShed}},
		pipeline.Entry{Name: "broken", OnFault: pipeline.Open, Stage: refusing{class: priority.Critical, panics: true}},
	)
	for _, class := range []priority.Class{priority.Low, priority.Low, priority.Normal, priority.High, priority.Critical} {
		send(p, class)
	}
	want := Counts{
		Classes: []ClassCounts{
			{Class: priority.Critical, Admitted: 1}, {Class: priority.High, Admitted: 1},
			{Class: priority.Normal, Admitted: 1}, {Class: priority.Low, Rejected: 2},
		},
		Entries: []EntryCounts{
			{Entry: "broken", Rejected: []RefusalCount{}, Shadowed: []RefusalCount{}, Faults: []FaultCount{{"panic", 1}}},
			{Entry: "first", Rejected: []RefusalCount{{priority.Low, "rate-limited", 2}}, Shadowed: []RefusalCount{}, Faults: []FaultCount{}},
			{Entry: "trial", Rejected: []RefusalCount{}, Shadowed: []RefusalCount{{priority.High, "fleet-shed", 1}}, Faults: []FaultCount{}},
		},
		Faults: []FaultCount{},
	}
	if got := CountsOf(counted); !reflect.DeepEqual(got, want) {
		t.Errorf("counted\n%+v, want\n%+v", got, want)
	}
	if n := Sum(CountsOf(counted).Entries[1].Rejected); n != 2 {
		t.Errorf("the sum is %d", n)
	}
}

func TestCountsOfFaultsOfNoEntryAndClientsThatLeft(t *testing.T) {
	counted := counted(t)
	counted.Fault(nil, -1, pipeline.Fault{Kind: pipeline.StoreFault})
	counted.Decided(&pipeline.Request{}, pipeline.Decision{Verdict: pipeline.Abandon})
	counts := CountsOf(counted)
	if len(counts.Faults) != 1 || counts.Faults[0] != (FaultCount{"store", 1}) {
		t.Errorf("faults %v", counts.Faults)
	}
	if counts.Classes[2].Abandoned != 1 {
		t.Errorf("classes %v", counts.Classes)
	}
}

// Offered = admitted + rejected + abandoned, whatever runs beside.
func TestNothingIsLostBetweenGoroutines(t *testing.T) {
	p, counted := watched(t,
		pipeline.Entry{Name: "one", Stage: refusing{class: priority.Low, reason: pipeline.WorkerShed}},
		pipeline.Entry{Name: "two", Stage: refusing{class: priority.High, reason: pipeline.FleetShed}},
	)
	const goroutines, each = 16, 500
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for i := range each {
				send(p, priority.FromIndex(i%priority.Count))
				if i%50 == 0 {
					CountsOf(counted)
				}
			}
		})
	}
	group.Wait()
	for _, c := range CountsOf(counted).Classes {
		want := ClassCounts{Class: c.Class, Admitted: goroutines * each / priority.Count}
		if c.Class == priority.Low || c.Class == priority.High {
			want.Admitted, want.Rejected = 0, want.Admitted
		}
		if c != want {
			t.Errorf("counted %+v, want %+v", c, want)
		}
	}
}

func TestRefusalsAreListedFromTheMostImportantClassOn(t *testing.T) {
	refusal := func(kind string, class priority.Class, reason pipeline.Reason) pipeline.Entry {
		return pipeline.Entry{Name: "one", Kind: kind, Stage: refusing{class: class, reason: reason}}
	}
	p, counted := watched(t, refusal("ratelimit", priority.Low, pipeline.RateLimited))
	send(p, priority.Low)
	for _, class := range []priority.Class{priority.Normal, priority.High} {
		plan, err := pipeline.NewPlan(refusal("fleetshed", class, pipeline.FleetShed))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Swap(plan); err != nil {
			t.Fatal(err)
		}
		send(p, class)
	}
	want := []EntryCounts{{
		Entry: "one", Shadowed: []RefusalCount{}, Faults: []FaultCount{},
		Rejected: []RefusalCount{{priority.High, "fleet-shed", 1}, {priority.Normal, "fleet-shed", 1}, {priority.Low, "rate-limited", 1}},
	}}
	if got := CountsOf(counted).Entries; !reflect.DeepEqual(got, want) {
		t.Errorf("counted\n%+v, want\n%+v", got, want)
	}
}
