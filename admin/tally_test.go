package admin

import (
	"reflect"
	"sync"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
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

// watched is a pipeline that a tally observes.
func watched(t testing.TB, entries ...pipeline.Entry) (*pipeline.Pipeline, *Tally) {
	t.Helper()
	plan, err := pipeline.NewPlan(entries...)
	if err != nil {
		t.Fatal(err)
	}
	tally := &Tally{}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: tally})
	if err != nil {
		t.Fatal(err)
	}
	return p, tally
}

func send(p *pipeline.Pipeline, class priority.Class) {
	r := &pipeline.Request{Class: class}
	if d := p.Acquire(testContext, r); d.Verdict == pipeline.Admit {
		p.Release(r, pipeline.Result{})
	}
}

func TestTheTallyCountsEachDecisionOnce(t *testing.T) {
	p, tally := watched(t,
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
	if got := tally.Counts(); !reflect.DeepEqual(got, want) {
		t.Errorf("counted\n%+v, want\n%+v", got, want)
	}
	if n := Sum(tally.Counts().Entries[1].Rejected); n != 2 {
		t.Errorf("the sum is %d", n)
	}
}

func TestATallyCountsFaultsOfNoEntryAndClientsThatLeft(t *testing.T) {
	tally := &Tally{}
	tally.Fault(nil, -1, pipeline.Fault{Kind: pipeline.StoreFault})
	tally.Decided(&pipeline.Request{}, pipeline.Decision{Verdict: pipeline.Abandon})
	counts := tally.Counts()
	if len(counts.Faults) != 1 || counts.Faults[0] != (FaultCount{"store", 1}) {
		t.Errorf("faults %v", counts.Faults)
	}
	if counts.Classes[2].Abandoned != 1 {
		t.Errorf("classes %v", counts.Classes)
	}
}

// Offered = admitted + rejected + abandoned, whatever runs beside.
func TestNothingIsLostBetweenGoroutines(t *testing.T) {
	p, tally := watched(t,
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
					tally.Counts()
				}
			}
		})
	}
	group.Wait()
	for _, c := range tally.Counts().Classes {
		want := ClassCounts{Class: c.Class, Admitted: goroutines * each / priority.Count}
		if c.Class == priority.Low || c.Class == priority.High {
			want.Admitted, want.Rejected = 0, want.Admitted
		}
		if c != want {
			t.Errorf("counted %+v, want %+v", c, want)
		}
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	p, tally := watched(t, pipeline.Entry{Name: "one", Stage: refusing{class: priority.Low, reason: pipeline.WorkerShed}})
	refused, admitted := &pipeline.Request{Class: priority.Low}, &pipeline.Request{}
	p.Acquire(testContext, refused)
	no := pipeline.Refuse(pipeline.WorkerShed)
	if n := testing.AllocsPerRun(100, func() {
		tally.Decided(refused, no)
		tally.Shadowed(refused, no)
		tally.Decided(admitted, pipeline.Decision{})
		tally.Released(admitted, pipeline.Result{})
		tally.Fault(refused, 0, pipeline.Fault{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Two goroutines that meet a new name at once count in one place.
func TestANameIsAddedOnce(t *testing.T) {
	tally := &Tally{}
	first, second := tally.add("new"), tally.add("new")
	if first != second {
		t.Error("the second replaced the first, with what it had counted")
	}
}
