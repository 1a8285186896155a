package pipeline_test

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// streamer is a sharer with another limit for streams.
type streamer struct {
	sharer
	streams func(*pipeline.Request) []store.Claim
}

func (s *streamer) StreamClaims(r *pipeline.Request, claims []store.Claim) []store.Claim {
	return append(claims, s.streams(r)...)
}

// detacher is a taker that counts long-lived requests apart.
type detacher struct {
	taker
	detached int
	full     bool
	got      pipeline.Permit
}

func (s *detacher) Detach(_ *pipeline.Request, p pipeline.Permit) pipeline.Decision {
	if s.full {
		return pipeline.Refuse(pipeline.WorkerShed)
	}
	s.detached++
	s.got = p
	return pipeline.Decision{Permit: p + 100}
}

func detachable(t *testing.T, driver store.Driver, worker *detacher) *pipeline.Pipeline {
	return build(t, driver, nil,
		pipeline.Entry{Name: "slots", Stage: &streamer{sharer{looker{}, claimOf(slots(t, "slots"), tokens(t, "rate"))}, claimOf(slots(t, "streams"))}},
		pipeline.Entry{Name: "worker", Stage: worker},
	)
}

func TestDetachMovesARequestToTheLongLivedGauges(t *testing.T) {
	driver := newCounts(nil)
	var released pipeline.Permit
	worker := &detacher{}
	worker.release = func(_ *pipeline.Request, p pipeline.Permit, _ pipeline.Result) { released = p }
	p := detachable(t, driver, worker)
	r := &pipeline.Request{}
	p.Acquire(t.Context(), r)
	for range 2 { // the second does nothing
		if d := p.Detach(t.Context(), r); d.Verdict != pipeline.Admit {
			t.Fatalf("got %+v", d)
		}
	}
	if !r.Detached() || worker.detached != 1 || driver.out("slots") != 0 || driver.out("streams") != 1 {
		t.Errorf("detached %d times, slots %d, streams %d; want 1, 0, 1", worker.detached, driver.out("slots"), driver.out("streams"))
	}
	p.Release(r, pipeline.Result{Outcome: pipeline.Ignored})
	if driver.out("streams") != 0 || driver.out("slots") != 0 || driver.out("rate") != 1 || released != 100 {
		t.Errorf("after release: streams %d, slots %d, tokens spent %d, permit %d; want 0, 0, 1, 100",
			driver.out("streams"), driver.out("slots"), driver.out("rate"), released)
	}
}

func TestARefusedDetachLeavesTheRequestHeld(t *testing.T) {
	t.Run("by the store", func(t *testing.T) {
		driver := newCounts(nil)
		driver.left["streams"] = 0
		worker := &detacher{}
		p := detachable(t, driver, worker)
		r := &pipeline.Request{}
		p.Acquire(t.Context(), r)
		if d := p.Detach(t.Context(), r); d.Reason != pipeline.TooManyInFlight || d.Entry != 0 || r.Detail.Rule != "streams" {
			t.Errorf("got %+v with detail %+v", d, r.Detail)
		}
		if driver.out("slots") != 1 || worker.detached != 0 || r.Detached() {
			t.Error("a refused detach changed what is held")
		}
		p.Release(r, pipeline.Result{})
		if driver.out("slots") != 0 || worker.holding() != 0 {
			t.Error("a permit leaked")
		}
	})
	t.Run("by a stage", func(t *testing.T) {
		driver := newCounts(nil)
		worker := &detacher{full: true}
		p := detachable(t, driver, worker)
		r := &pipeline.Request{}
		p.Acquire(t.Context(), r)
		if d := p.Detach(t.Context(), r); d.Reason != pipeline.WorkerShed || d.Entry != 1 {
			t.Errorf("got %+v", d)
		}
		p.Release(r, pipeline.Result{})
		if driver.out("slots") != 0 || driver.out("streams") != 0 || worker.holding() != 0 {
			t.Error("a permit leaked")
		}
	})
}

func TestDetachOutlivesAFaultOfTheStore(t *testing.T) {
	driver := newCounts(nil)
	p := detachable(t, driver, &detacher{})
	r := &pipeline.Request{}
	p.Acquire(t.Context(), r)
	driver.fail = errPlanted
	if d := p.Detach(t.Context(), r); d.Verdict != pipeline.Admit {
		t.Errorf("got %+v: what could not be decided is not a refusal", d)
	}
	driver.fail = nil
	p.Release(r, pipeline.Result{})
	if driver.out("slots") != 0 || driver.out("streams") != 0 {
		t.Error("a slot leaked")
	}
}

func TestDetachOfWhatIsNotHeldDoesNothing(t *testing.T) {
	worker := &detacher{}
	p := detachable(t, newCounts(nil), worker)
	r := &pipeline.Request{}
	p.Detach(t.Context(), r)
	p.Acquire(t.Context(), r)
	p.Release(r, pipeline.Result{})
	p.Detach(t.Context(), r)
	if worker.detached != 0 {
		t.Errorf("detached %d times", worker.detached)
	}
}
