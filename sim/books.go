package sim

import (
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// books are what one worker must have done, counted beside it. It is the
// pipeline's observer, and is told by the requests what they were answered.
type books struct {
	worker *worker

	mu        sync.Mutex
	asked     int // requests that were handed to Acquire
	answers   [3]int
	decided   [3]int // the same, by what the observer was told
	released  int
	held      map[store.ID]time.Time
	streams   int
	faults    int
	froze     time.Time // when the process was frozen last; zero never
	running   time.Time // when it was thawed last, or started
	died      time.Time
	suspended bool
	detach    map[store.ID]bool
}

func newBooks(w *worker) *books {
	return &books{worker: w, held: map[store.ID]time.Time{}, detach: map[store.ID]bool{}, running: time.Now()}
}

func (b *books) frozen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.froze, b.suspended = time.Now(), true
}

func (b *books) thawed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running, b.suspended = time.Now(), false
}

func (b *books) killed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.died = time.Now()
}

// wasFrozen reports whether the process stood still at some moment since.
func (b *books) wasFrozen(since time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.suspended || !b.froze.IsZero() && b.running.After(since)
}

// asks notes a request before it is handed to the pipeline.
func (b *books) asks() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
}

// longestDecision is what a decision may take: the store's budget and the
// queue's wait.
const longestDecision = store.DefaultBudget + 40*time.Millisecond

// answered checks an answer.
func (b *books) answered(r *pipeline.Request, d pipeline.Decision, began time.Time) {
	took := time.Since(began)
	w := b.worker
	b.mu.Lock()
	b.answers[d.Verdict]++
	b.mu.Unlock()
	if took > longestDecision && !b.wasFrozen(began) {
		w.world.journal.violate("latency", "worker %d answered after %s, allowed: %s", w.place+1, took, longestDecision)
	}
	if d.Verdict == pipeline.Reject && d.Reason == pipeline.FleetShed && r.Class == priority.Critical {
		w.world.journal.violate("critical", "worker %d refused critical work for the fleet's sake", w.place+1)
	}
}

// Decided is told of each decision.
func (b *books) Decided(r *pipeline.Request, d pipeline.Decision) {
	b.mu.Lock()
	b.decided[d.Verdict]++
	if d.Verdict == pipeline.Admit {
		b.held[r.ID()] = time.Now()
	}
	b.mu.Unlock()
	if d.Verdict == pipeline.Admit {
		b.worker.world.checks.admitted(b.worker, r)
	}
}

// Shadowed is not called: no entry is in shadow.
func (b *books) Shadowed(*pipeline.Request, pipeline.Decision) {}

// Released is told of each release.
func (b *books) Released(r *pipeline.Request, _ pipeline.Result) {
	b.mu.Lock()
	_, held := b.held[r.ID()]
	delete(b.held, r.ID())
	if b.detach[r.ID()] {
		delete(b.detach, r.ID())
		b.streams--
	}
	b.released++
	b.mu.Unlock()
	if !held {
		b.worker.world.journal.violate("given back once", "worker %d released a request that was not held", b.worker.place+1)
	}
	b.worker.world.checks.ended(r)
}

// Fault is told when the store's answer did not come, or a stage panicked.
func (b *books) Fault(r *pipeline.Request, entry int, f pipeline.Fault) {
	if f.Kind != pipeline.StoreFault {
		b.worker.world.journal.violate("containment", "worker %d, entry %d: %s: %v", b.worker.place+1, entry, f.Kind, f.Err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults++
}

func (b *books) detached(r *pipeline.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.detach[r.ID()] = true
	b.streams++
}

// stateChanged is told what the guard thinks of the store.
func (b *books) stateChanged(s store.State, _ error) {
	b.worker.world.journal.note("store is "+s.String(), b.worker.place+1, 0, 0)
}

// tick compares the books with what the worker says of itself. Nothing runs
// at this moment but who calls it.
func (b *books) tick() {
	w, j := b.worker, b.worker.world.journal
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.suspended || !b.died.IsZero() {
		return
	}
	n := w.place + 1
	if b.answers != b.decided {
		j.violate("conservation", "worker %d gave %v answers (admitted, refused, abandoned), and told its observer of %v", n, b.answers, b.decided)
	}
	admitted := b.decided[pipeline.Admit]
	if held := admitted - b.released; held != len(b.held) || held != w.pipeline.InFlight() {
		j.violate("conservation", "worker %d admitted %d and released %d, and holds %d; the pipeline says %d", n, admitted, b.released, len(b.held), w.pipeline.InFlight())
	}
	short := len(b.held) - b.streams
	if got := int(w.usage.InFlight().Sum()); got < short || got > short+b.asked-b.decidedInAll() {
		j.violate("places", "worker %d has %d requests in flight, the fleet stage counts %d", n, short, got)
	}
	snap := w.state.Snapshot()
	sum := 0
	for _, c := range snap.InFlight {
		sum += c
	}
	if sum != short || snap.Streams != b.streams {
		j.violate("places", "worker %d has %d requests in flight and %d streams, the worker stage counts %d and %d", n, short, b.streams, sum, snap.Streams)
	}
	if most := w.world.scenario.setup.limit; sum > most {
		j.violate("places", "worker %d has %d requests in flight, allowed: %d", n, sum, most)
	}
	if under := w.guard.Stats().UnderWay; under > store.DefaultMaxInFlight {
		j.violate("bounded", "worker %d has %d calls of the store under way, allowed: %d", n, under, store.DefaultMaxInFlight)
	}
}

func (b *books) decidedInAll() int { return b.decided[0] + b.decided[1] + b.decided[2] }
