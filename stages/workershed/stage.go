package workershed

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Rule is what Detail.Rule names in the decisions of this stage.
const Rule = "worker"

// Stage is the worker utilization load shedder. It is an immutable view on a
// State and safe for concurrent use: a changed configuration is a new Stage on
// the same State.
type Stage struct {
	*settings
	state *State
}

var (
	_ pipeline.Waiter   = (*Stage)(nil)
	_ pipeline.Detacher = (*Stage)(nil)
	_ pipeline.Ticker   = (*Stage)(nil)
)

// New makes a view on a state; nil starts a fresh one. It changes nothing of
// the state before the stage is used. The error names every fault of the
// configuration.
func New(c Config, state *State) (*Stage, error) {
	s, err := c.compile()
	if err != nil {
		return nil, err
	}
	if state == nil {
		state = NewState()
	}
	state.current.CompareAndSwap(nil, s)
	return &Stage{s, state}, nil
}

// State is what the stage is a view on.
func (s *Stage) State() *State { return s.state }

// limit is how many requests may be in flight now.
func (s *Stage) limit() int { return s.state.limitUnder(s.settings) }

// capOf is up to how many requests in flight a class is admitted at once.
func (s *Stage) capOf(class int) int { return s.shares.capOf(s.limit(), class) }

// Look refuses the cohorts that are dropped, and what would surely find no place:
// it says so before anything else is asked, and costs nobody a place.
func (s *Stage) Look(r *pipeline.Request) pipeline.Decision {
	if s.exempt != nil && s.exempt(r) && s.state.exempt.value() < s.exemptMax {
		return pipeline.Decision{}
	}
	if s.adapts && s.state.glances.due(r.Now) && !r.Trial {
		s.state.glance()
	}
	class := r.Class.Index()
	if level := s.state.dropped(); level > float64(class) && r.Cohort.Shed(shed(level, class)) {
		return s.drop(r, class)
	}
	inFlight := s.state.slots.total()
	if inFlight+s.state.ahead(class) < s.capOf(class) {
		return pipeline.Decision{}
	}
	return s.judge(r, class)
}

// Spare is the room that a request has left before it would have to wait, and
// how much there is of it for its class.
func (s *Stage) Spare(r *pipeline.Request) (left, of int64) {
	class := r.Class.Index()
	room := s.capOf(class)
	return int64(max(room-s.state.slots.total()-s.state.ahead(class), 0)), int64(room)
}

// Take takes a slot, at once or after a short wait.
func (s *Stage) Take(ctx context.Context, r *pipeline.Request) pipeline.Decision {
	if s.exempt != nil && s.exempt(r) && s.state.exempt.take(s.exemptMax) {
		return pipeline.Decision{Permit: newPermit(exemptPermit, 0, 0)}
	}
	class := r.Class.Index()
	if s.state.slots.take(class, s.capOf(class)) {
		return s.took(class, s.state.moment(r))
	}
	if r.NoWait {
		return s.estimate(r, class)
	}
	return s.wait(ctx, r, class)
}

// Release gives back what Take or Detach gave. A permit that is not theirs is
// ignored.
func (s *Stage) Release(_ *pipeline.Request, p pipeline.Permit, result pipeline.Result) {
	switch kindOf(p) {
	case slotPermit:
		s.giveSlot(p, result)
	case streamPermit:
		s.state.streams.give()
	case exemptPermit:
		s.state.exempt.give()
	}
}

// Ask counts a request that asks a remote store: it will want a slot soon.
func (s *Stage) Ask(r *pipeline.Request) {
	if !s.state.remote.Load() {
		s.state.remote.Store(true)
	}
	s.state.asking[r.Class.Index()].Add(1)
	s.state.queue.places.add(r.Caller.ID, 1)
}

// Asked ends what Ask began.
func (s *Stage) Asked(r *pipeline.Request) {
	s.state.asking[r.Class.Index()].Add(-1)
	s.state.queue.places.add(r.Caller.ID, -1)
}

// Detach moves a request from its slot to the gauge of streams. It frees the
// slot at once, and acts once. A stream on the exempt reserve moves too, so
// that it does not keep probes out, but is not refused.
func (s *Stage) Detach(r *pipeline.Request, p pipeline.Permit) pipeline.Decision {
	kind := kindOf(p)
	if kind != slotPermit && kind != exemptPermit {
		return pipeline.Decision{Permit: p}
	}
	if !s.state.streams.take(s.maxStreams) {
		if kind == exemptPermit {
			return pipeline.Decision{Permit: p}
		}
		return s.refuse(r, classOf(p), s.maxWait)
	}
	s.Release(r, p, pipeline.Result{Outcome: pipeline.Ignored})
	return pipeline.Decision{Permit: newPermit(streamPermit, classOf(p), takenAt(p))}
}

// Tick lets the state adapt under the configuration of this stage.
func (s *Stage) Tick(now int64) { s.state.tick(now, s.settings) }

func (s *Stage) took(class int, at int64) pipeline.Decision {
	s.state.meter.took(at)
	return pipeline.Decision{Permit: newPermit(slotPermit, class, at)}
}

func (s *Stage) giveSlot(p pipeline.Permit, result pipeline.Result) {
	at := result.At
	if at == 0 {
		at = s.state.clock.now()
	}
	if lane(s.state.slots.word.Load(), classOf(p)) == 0 {
		return
	}
	s.state.meter.ended(takenAt(p), at, result.Outcome)
	s.state.queue.give(classOf(p), at)
}

// budget is how long a request may wait: through a burst, and not in a line
// that stands anyway.
func (s *Stage) budget(r *pipeline.Request, class int, now int64) time.Duration {
	if s.queuePerClass == NoQueue {
		return 0
	}
	wait := s.maxWait
	if s.state.queue.stands(class, now) {
		wait /= standingPart
	}
	if r.Deadline == 0 {
		return wait
	}
	return min(wait, time.Duration(r.Deadline-now)/4)
}
