package workershed

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// judge answers for a request that finds no free room: it may wait if it is
// likely to get a place in time, if there is a place to wait, and if its
// caller does not have its share of places already.
func (s *Stage) judge(r *pipeline.Request, class int) pipeline.Decision {
	p := s.prospect(r, class, r.Now)
	if p.hopeless || s.hasItsPlaces(r) {
		return s.refuse(r, class, p.wait)
	}
	return pipeline.Decision{}
}

// hasItsPlaces reports whether the caller of a request has as many places in
// the queue as one caller may have.
func (s *Stage) hasItsPlaces(r *pipeline.Request) bool {
	return s.state.queue.places.used(r.Caller.ID) >= placesFor(s.limit())
}

// prospect is what a request that finds no free room may expect.
type prospect struct {
	need     int           // how many have to end before it gets a slot; 0 or less if none
	wait     time.Duration // about how long that takes, at least
	hopeless bool          // it would not get a slot in time, or no place to wait for it
}

func (s *Stage) prospect(r *pipeline.Request, class int, now int64) (p prospect) {
	limit := s.limit()
	room := s.shares.capOf(limit, class)
	inFlight := s.state.slots.total()
	p.need = inFlight + 1 - room + s.state.ahead(class)
	if p.need <= 0 {
		return p
	}
	p.wait = s.state.outlook.wait(p.need, inFlight)
	budget := s.budget(r, class, now)
	p.hopeless = room == 0 || budget <= 0 || p.wait > budget || s.queueFull(class, inFlight, limit)
	return p
}

// queueFull reports whether the line of a class, or of a more important one,
// has no place left. Of those that ask the store, as many count as will find
// no room.
func (s *Stage) queueFull(class, inFlight, limit int) bool {
	for ; class < priority.Count; class++ {
		asking := int(s.state.asking[class].Load()) - max(0, s.shares.capOf(limit, class)-inFlight)
		if int(s.state.queue.queued[class].Load())+max(0, asking) >= s.queuePerClass {
			return true
		}
	}
	return false
}

// estimate answers without waiting whether a slot would have come free in
// time. Then the request counts as if it had one: it runs in any case. What
// runs above the limit stands for a queue that the slots of the limit serve.
func (s *Stage) estimate(r *pipeline.Request, class int) pipeline.Decision {
	at := s.state.moment(r)
	p := s.prospect(r, class, at)
	p.wait = max(p.wait, s.state.outlook.wait(p.need, s.limit()))
	full := p.need > max(0, s.queuePerClass) || p.wait > s.budget(r, class, at)
	if p.hopeless || full || !s.state.slots.take(class, maxSlots) {
		return s.refuse(r, class, p.wait)
	}
	return s.took(class, at)
}

// wait waits for a slot. A slot that is handed over in the moment in which the
// request gives up is used, or, if the client has left, given on.
func (s *Stage) wait(ctx context.Context, r *pipeline.Request, class int) pipeline.Decision {
	now := s.state.clock.now()
	p := s.prospect(r, class, now)
	if p.hopeless {
		return s.refuse(r, class, p.wait)
	}
	w, took := s.state.queue.enter(s, class, entrant{r.Caller.ID, now})
	switch {
	case took:
		return s.took(class, now)
	case w == nil:
		return s.refuse(r, class, p.wait)
	}
	defer s.waited(r, w, now)
	w.timer.Reset(s.budget(r, class, now))
	select {
	case <-w.ready:
		return s.took(class, s.state.clock.now())
	case <-w.timer.C:
		if s.state.queue.leave(w) {
			return s.timeOut(r, class)
		}
		<-w.ready
		return s.took(class, s.state.clock.now())
	case <-ctx.Done():
		if !s.state.queue.leave(w) {
			<-w.ready
			s.state.queue.give(class, s.state.clock.now())
		}
		return pipeline.Decision{Verdict: pipeline.Abandon}
	}
}

// waited ends a wait, and tells the request how long it was.
func (s *Stage) waited(r *pipeline.Request, w *waiter, since int64) {
	s.state.queue.reuse(w)
	r.Waits.Queue = max(s.state.clock.now()-since, 1)
}

// The refusals. Each says when to come back, from what the state knows.

// drop refuses a cohort: come back when what drops it has sunk below it, at
// the soonest.
func (s *Stage) drop(r *pipeline.Request, class int) pipeline.Decision {
	if !r.Trial {
		s.state.refused.level[class].Add(1)
	}
	slow, strain := s.state.levels()
	back := max(backIn(slow, class, r.Cohort, s.ramp.down), backIn(strain, class, r.Cohort, strainDown))
	return s.refused(r, pipeline.WorkerShed, back)
}

// refuse refuses for want of room: come back when those that are ahead have
// ended, and not before another could have waited.
func (s *Stage) refuse(r *pipeline.Request, class int, expected time.Duration) pipeline.Decision {
	if !r.Trial {
		s.state.refused.room[class].Add(1)
	}
	return s.refused(r, pipeline.WorkerShed, expected)
}

// timeOut refuses after a wait.
func (s *Stage) timeOut(r *pipeline.Request, class int) pipeline.Decision {
	s.state.refused.timeOut[class].Add(1)
	inFlight := s.state.slots.total()
	need := max(1, inFlight+1-s.capOf(class)+s.state.ahead(class))
	return s.refused(r, pipeline.QueueTimeout, s.state.outlook.wait(need, inFlight))
}

// longestRetry bounds a hint: nobody knows more than that.
const longestRetry = 10 * time.Minute

func (s *Stage) refused(r *pipeline.Request, why pipeline.Reason, back time.Duration) pipeline.Decision {
	if !r.Trial {
		s.state.meter.refused.Add(1)
	}
	r.Detail = pipeline.Detail{Rule: Rule, RetryAfter: min(max(back, s.maxWait), longestRetry)}
	return pipeline.Refuse(why)
}
