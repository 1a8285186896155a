package pipeline

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Caller is who sends a request, as the edge established it.
type Caller struct {
	ID     store.Key // what limits count by
	Name   string    // what configuration and overrides call it
	Source string    // where it was found: a header's name, address, subject
	Secret bool      // the name is a credential: show ID instead
}

// Label is what may be shown of a caller: its name, or a part of its id when
// the name is a credential.
func (c *Caller) Label() string {
	if c.Secret {
		return c.Source + ":" + c.ID.String()[:8]
	}
	return c.Name
}

// Request is one request and its admission. Fill the exported fields, then
// hand it to Acquire and, when that admitted, to Release. It is owned by one
// goroutine at a time. The zero value is usable.
type Request struct {
	match.Subject
	Caller   Caller
	Address  netip.Addr // of the client; invalid when not known
	Class    priority.Class
	Cohort   priority.Cohort // of the caller, by priority.CohortOf; where all are 0 a class is shed as a whole
	Cost     int64           // in tokens; 0 means 1
	Now      int64           // nanoseconds since the epoch by Pipeline.Now; read once, at arrival
	Deadline int64           // by the same clock; 0 means none
	NoWait   bool            // set by the pipeline while a stage must answer without waiting
	Trial    bool            // set by Pipeline.Explain: a stage answers as ever, charges nothing and counts nothing
	Trace    Trace           // that the request is part of, if that trace is sampled

	// Waits is what the decision waited for: written by the pipeline, and by
	// the stage that may wait.
	Waits Waits

	// Detail is written by the stage that refuses, or that has the least left.
	Detail Detail

	admission admission
}

// Trace is a span of a distributed trace, as W3C Trace Context names it. The
// zero value is none.
type Trace struct {
	ID   [16]byte
	Span [8]byte
}

// Waits is how long a decision waited, in nanoseconds. The zero value is not at
// all.
type Waits struct {
	Store      int64 // for a remote store; one in this process is not timed
	Delay      int64 // for its turn, under a leaky bucket that admitted it ahead of its rate
	Queue      int64 // for room, in the queue of the stage that may wait
	Unanswered bool  // the store gave no answer in its time
}

// Detail explains a decision: figures for headers, bodies and logs.
type Detail struct {
	Rule       string // the limit or rule that decided, as the configuration names it
	Limit      *store.Limit
	Remaining  int64
	RetryAfter time.Duration // store.Never when waiting does not help; 0 when not known
	ResetAfter time.Duration
}

// Entry is the entry of the plan that a decision on the request came from; the
// zero Entry before Acquire.
func (r *Request) Entry(d Decision) Entry {
	if p := r.admission.plan; p != nil && int(d.Entry) < len(p.entries) {
		return p.entries[d.Entry].Entry
	}
	return Entry{}
}

// Moment is when the request goes on, by the same clock as Now: its arrival,
// later by what it was held for a leaky bucket.
func (r *Request) Moment() int64 { return r.Now + r.Waits.Delay }

// Gone reports whether the context that Acquire was given has ended, of a
// request that is in flight or is just being released: at an edge it means that
// the client has left, and that nobody waits for the answer.
func (r *Request) Gone() bool { return r.admission.client != nil && r.admission.client.Err() != nil }

// ID names the request across the fleet. It is not a sequence, which would tell
// clients how many requests there are. A refusal that nobody asks for its id
// has none, for to draw one is a tenth of its cost.
func (r *Request) ID() store.ID { return r.admission.identify() }

// identify draws an id, once in each use. What is drawn at random is how a
// Request begins; each further use has another hash of it.
func (a *admission) identify() store.ID {
	id := &a.batch.ID
	if id.Hi == 0 {
		id.Hi, a.draw = rand.Uint64()|1, rand.Uint64()
	}
	if id.Lo == 0 {
		a.draw += 0x9e3779b97f4a7c15
		hi, lo := bits.Mul64(a.draw^id.Hi, 0xbf58476d1ce4e5b9)
		id.Lo = (hi ^ lo) | 1
	}
	return *id
}

// Reset makes a request ready for another use. It must not be in flight.
func (r *Request) Reset() {
	// Field by field, because half of a request is scratch that Acquire
	// overwrites: to clear all of it is a tenth of a decision.
	r.Subject = match.Subject{}
	r.Caller = Caller{}
	r.Address = netip.Addr{}
	r.Class, r.Cohort, r.Cost = 0, 0, 0
	r.Now, r.Deadline, r.NoWait, r.Trial = 0, 0, false, false
	r.Trace = Trace{}
	r.Waits = Waits{}
	r.Detail = Detail{}
	r.admission.plan, r.admission.detached = nil, false
	r.admission.batch.ID.Lo = 0
}

// maxEntries bounds a plan, so that what is held fits a word.
const maxEntries = 32

// admission is what the pipeline keeps of a request.
type admission struct {
	plan     *Plan
	state    atomic.Uint32 // free → held → free; see holders
	decision Decision

	// The walk's own place, so that it can resume behind an entry that panicked.
	pass        pass
	cursor      int
	virtual     bool // the shadow world would still admit
	remembers   bool // there are refusals to remember, so claims are looked at as they are named
	storePanics int
	asking      bool // stages count the request as asking the store

	held    uint32 // entries whose permits are held, by index
	permits [maxEntries]Permit

	draw    uint64        // what the next id is made of
	batch   store.Batch   // scratch: claims and grants live here, or each request would allocate them
	delay   time.Duration // how long leaky buckets hold the request
	granted bool          // batch holds grants that have to be settled
	local   bool          // the grants are the local driver's
	shadow  bool          // the shadow group was granted
	returns []store.Return

	client   context.Context // what Acquire was given, while the request is in flight
	detached bool
	listed   *holders // in which list the request is
}

type pass uint8

// The passes of the walk.
const (
	looking pass = iota
	claiming
	storing
	taking
)
