package sim

import (
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// attempt is a request in a worker.
type attempt struct {
	q        *request
	w        *worker
	at       time.Time
	deadline time.Time
}

// hangFor is how long a handler hangs that does.
const hangFor = 30 * time.Second

const hangUnit = 1_000_000

// run is the way of a request through a worker: to the pipeline, to the
// handler, and out again. It reports who refused, where that is the outcome.
func (a *attempt) run() (o outcome, entry int) {
	w, dice := a.w, &a.q.dice
	if !w.awake(dice) || !time.Now().Before(a.deadline) {
		return lost, 0
	}
	w.server.accept()
	ctx, leave := a.q.client()
	defer leave()
	now := w.pipeline.Now()
	r := &pipeline.Request{
		Now: now, Deadline: now + int64(time.Until(a.deadline)), Class: a.q.class,
		Cohort: priority.CohortOf(a.q.key.Lo, now), Caller: pipeline.Caller{ID: a.q.key},
	}
	w.books.asks()
	began := time.Now()
	d := w.pipeline.Acquire(ctx, r)
	w.books.answered(r, d, began)
	switch {
	case !w.awake(dice):
		return lost, 0
	case d.Verdict == pipeline.Abandon:
		return abandoned, 0
	case d.Verdict == pipeline.Reject:
		return refused, int(d.Entry)
	}
	dice.apart()
	if a.q.stream {
		return a.serveStream(r)
	}
	done := a.serve()
	if !w.awake(dice) {
		return lost, 0
	}
	o, result := a.result(done, ctx.Err() != nil)
	w.pipeline.Release(r, result)
	return o, 0
}

// serve is the handler.
func (a *attempt) serve() (done bool) {
	if a.q.dice.hit(float64(a.w.world.hang.Load()) / hangUnit) {
		time.Sleep(a.q.dice.around(hangFor))
		return false
	}
	return a.w.server.serve(a.deadline, &a.q.dice)
}

// result is how it went for the client, and what the middleware tells.
func (a *attempt) result(done, gone bool) (outcome, pipeline.Result) {
	switch {
	case gone:
		return left, pipeline.Result{Outcome: pipeline.Ignored}
	case done:
		return good, pipeline.Result{Outcome: pipeline.Completed}
	case a.w.books.wasFrozen(a.at):
		return lost, pipeline.Result{Outcome: pipeline.Dropped}
	}
	return late, pipeline.Result{Outcome: pipeline.Dropped}
}

// serveStream is a handler whose answer goes on: its place is among the
// streams as soon as that shows.
func (a *attempt) serveStream(r *pipeline.Request) (outcome, int) {
	ctx, leave := a.q.client()
	defer leave()
	done := a.w.server.serve(a.deadline, &a.q.dice)
	if !a.w.awake(&a.q.dice) {
		return lost, 0
	}
	if !done {
		a.w.pipeline.Release(r, pipeline.Result{Outcome: pipeline.Dropped})
		return late, 0
	}
	d := a.w.pipeline.Detach(ctx, r)
	if !a.w.awake(&a.q.dice) {
		return lost, 0
	}
	if d.Verdict == pipeline.Admit {
		a.w.books.detached(r)
		time.Sleep(a.q.dice.around(time.Duration(a.w.world.traffic.lasting.Load())))
	}
	if !a.w.awake(&a.q.dice) {
		return lost, 0
	}
	a.w.pipeline.Release(r, pipeline.Result{Outcome: pipeline.Ignored})
	if d.Verdict != pipeline.Admit {
		return refused, int(d.Entry)
	}
	return good, 0
}
