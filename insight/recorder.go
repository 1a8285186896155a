package insight

import (
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Config sets a recorder. The zero value is usable.
type Config struct {
	// Next is told everything that the recorder is told. Nil: nobody is.
	Next pipeline.Observer
	// Now is the clock that requests are stamped with, in nanoseconds since the
	// epoch. Default: the system's.
	Now func() int64
}

// Recorder remembers what happened lately.
type Recorder struct {
	next pipeline.Observer
	now  func() int64

	seconds seconds
	recent  recent
	callers sketches
	routes  sketches
	work    work
	events  events
	fleets  fleets
}

var _ pipeline.Observer = (*Recorder)(nil)

// New makes a recorder.
func New(c Config) *Recorder {
	if c.Next == nil {
		c.Next = nobody{}
	}
	if c.Now == nil {
		c.Now = func() int64 { return time.Now().UnixNano() }
	}
	r := &Recorder{next: c.Next, now: c.Now}
	r.recent.shards = make([]recentShard, recentShards)
	return r
}

// Sample is one decided request, as far as it is remembered.
type Sample struct {
	ID         store.ID
	At         int64 // when it arrived, nanoseconds since the epoch
	Caller     pipeline.Caller
	Route      string
	Method     string
	Class      priority.Class
	Cohort     priority.Cohort
	Verdict    pipeline.Verdict
	Reason     pipeline.Reason
	Entry      string // name of the entry that refused, or would have; "" when none did
	Rule       string // the limit or override that did
	Remaining  int64
	RetryAfter time.Duration
	Shadow     bool // it was admitted; an entry in shadow would have refused it
}

// sampleOf is what is kept of a request. The name of a caller is not kept where
// it is a credential.
func sampleOf(r *pipeline.Request, d pipeline.Decision) Sample {
	s := Sample{
		ID: r.ID(), At: r.Now, Caller: r.Caller, Route: r.RouteName(), Method: r.Method, Class: r.Class, Cohort: r.Cohort,
		Verdict: d.Verdict, Reason: d.Reason,
	}
	if s.Caller.Secret {
		s.Caller.Name = ""
	}
	if d.Verdict != pipeline.Admit {
		s.Entry, s.Rule = r.Entry(d).Name, r.Detail.Rule
		s.Remaining, s.RetryAfter = r.Detail.Remaining, r.Detail.RetryAfter
	}
	return s
}

// Decided remembers a decision.
func (r *Recorder) Decided(q *pipeline.Request, d pipeline.Decision) {
	if slot := r.seconds.pick(q.Now); slot != nil {
		slot.keep(sampleOf(q, d))
	}
	if d.Verdict == pipeline.Reject {
		r.recent.keep(sampleOf(q, d))
		r.callers.refused(q.Now, q.Caller.ID, nameOf(q))
		r.routes.refused(q.Now, keyOf(q.RouteName()), name{text: q.RouteName()})
	}
	r.next.Decided(q, d)
}

// Shadowed remembers what an entry in shadow would have refused.
func (r *Recorder) Shadowed(q *pipeline.Request, d pipeline.Decision) {
	s := sampleOf(q, d)
	s.Shadow = true
	r.recent.keep(s)
	r.next.Shadowed(q, d)
}

// Released adds up who held what, and for whom work was done.
func (r *Recorder) Released(q *pipeline.Request, result pipeline.Result) {
	at := result.At
	if at == 0 {
		at = r.now()
	}
	held := max(0, at-q.Now)
	r.callers.held(at, q.Caller.ID, nameOf(q), held)
	r.routes.held(at, keyOf(q.RouteName()), name{text: q.RouteName()}, held)
	r.work.add(q, result.Outcome, at, held)
	r.next.Released(q, result)
}

// Fault is passed on.
func (r *Recorder) Fault(q *pipeline.Request, entry int, f pipeline.Fault) { r.next.Fault(q, entry, f) }

type nobody struct{}

func (nobody) Decided(*pipeline.Request, pipeline.Decision)  {}
func (nobody) Shadowed(*pipeline.Request, pipeline.Decision) {}
func (nobody) Released(*pipeline.Request, pipeline.Result)   {}
func (nobody) Fault(*pipeline.Request, int, pipeline.Fault)  {}

// work is what became of the requests that ran.
type work struct {
	good, late, left, dropped, other tally
}

// tally counts requests and the time that they took.
type tally struct {
	requests atomic.Int64
	held     atomic.Int64 // nanoseconds
}

func (t *tally) add(held int64) {
	t.requests.Add(1)
	t.held.Add(held)
}

func (w *work) add(q *pipeline.Request, outcome pipeline.Outcome, at, held int64) {
	switch {
	case outcome == pipeline.NotRun:
	case q.Gone():
		w.left.add(held)
	case q.Deadline != 0 && at > q.Deadline:
		w.late.add(held)
	case outcome == pipeline.Dropped:
		w.dropped.add(held)
	case outcome == pipeline.Ignored:
		w.other.add(held)
	default:
		w.good.add(held)
	}
}

// Work is what became of the requests that ran, since the recorder was made.
type Work struct {
	Good    Tally `json:"good"`    // ended in time, for a client that was there
	Late    Tally `json:"late"`    // ended after the client's deadline: wasted
	Left    Tally `json:"left"`    // ended after the client had left: wasted
	Dropped Tally `json:"dropped"` // ended as overload signals
	Other   Tally `json:"other"`   // streams, panics
}

// Tally counts requests and the time that they were in flight.
type Tally struct {
	Requests int64   `json:"requests"`
	Seconds  float64 `json:"slot_seconds"`
}

func (t *tally) read() Tally {
	return Tally{t.requests.Load(), time.Duration(t.held.Load()).Seconds()}
}

// Work reads the counts.
func (r *Recorder) Work() Work {
	w := &r.work
	return Work{Good: w.good.read(), Late: w.late.read(), Left: w.left.read(), Dropped: w.dropped.read(), Other: w.other.read()}
}
