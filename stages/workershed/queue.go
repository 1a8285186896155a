package workershed

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// queue is where requests wait a moment for a slot, served in the order of the
// classes. In each class those stand in the first line whose caller has no
// other place, and in the second the rest: who sends one request at a time is
// not kept waiting by who sends a hundred. mu guards the lines and every
// waiter in them; nothing blocks under it.
type queue struct {
	slots  *slots
	places *places
	queued [priority.Count]atomic.Int32 // how many wait, by class; written under mu, read by whoever only looks
	since  [priority.Count]atomic.Int64 // when nobody of the class waited; the same

	mu    sync.Mutex
	lines [priority.Count][2]line
	count int
	spare *waiter // a list of waiters to use again
	kept  int
}

// sparesKept bounds the waiters that are kept for use: what the lines hold by
// default when all are full.
const sparesKept = priority.Count * defaultQueue

// standingAfter is how long a line is served oldest first. One that has been
// there for longer is served newest first, because the oldest in it have
// little of their time left.
const standingAfter = 100 * time.Millisecond

// standingPart is the part of max_wait that may be waited in a class that
// stands: there it is no burst that passes, and to wait longer helps nobody.
const standingPart = 2

// waiter is a request in a line.
type waiter struct {
	previous, next *waiter
	stage          *Stage // under whose caps it waits
	caller         store.Key
	class          int
	line           *line
	granted        bool          // a slot was handed over; ready tells
	ready          chan struct{} // holds one
	timer          *time.Timer
}

// line is a list of waiters of one class, the oldest first.
type line struct {
	first, last *waiter
	length      int
	since       int64 // when it was last empty
}

// enter takes a slot if one has come free, or else a place in the line of the
// class; a nil waiter without a slot found no place.
func (q *queue) enter(s *Stage, class int, e entrant) (w *waiter, took bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queued[class].Load() == 0 && q.slots.takeOrWait(class, s.capOf(class)) {
		return nil, true
	}
	used := q.places.used(e.caller)
	if used >= placesFor(s.limit()) || q.full(class, s.queuePerClass) {
		q.tellIfEmpty()
		return nil, false
	}
	w = q.newWaiter()
	w.stage, w.caller, w.class, w.granted = s, e.caller, class, false
	w.line = &q.lines[class][min(used, 1)]
	if q.queued[class].Load() == 0 {
		q.since[class].Store(e.now)
	}
	w.line.push(w, e.now)
	q.moved(w, 1)
	return w, false
}

// entrant is who enters, and when.
type entrant struct {
	caller store.Key
	now    int64
}

// stands reports whether a class, or a more important one, has had somebody
// waiting for standingAfter: nobody waits for longer than a more important
// request would.
func (q *queue) stands(class int, now int64) bool {
	for ; class < priority.Count; class++ {
		if q.queued[class].Load() > 0 && now-q.since[class].Load() >= int64(standingAfter) {
			return true
		}
	}
	return false
}

// leave takes a waiter out that gave up. It reports false when a slot was
// handed over in the meantime: then the slot is the waiter's to use or to give
// back.
func (q *queue) leave(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.granted {
		return false
	}
	q.remove(w)
	q.tellIfEmpty()
	return true
}

// give gives a slot back, or hands it to the waiter that is next.
func (q *queue) give(class int, now int64) {
	if !q.slots.give(class) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.handOver(class, now)
	q.grant(now)
	q.tellIfEmpty()
}

// raised serves those who fit after the limit has risen.
func (q *queue) raised(now int64) {
	if q.slots.word.Load()&waiting == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.grant(now)
	q.tellIfEmpty()
}

// handOver turns the slot of one class into that of the next waiter, without
// a moment in which a newcomer could take it.
func (q *queue) handOver(class int, now int64) {
	for {
		word := q.slots.word.Load()
		if lane(word, class) == 0 {
			return
		}
		given := word - one(class)
		w := q.next(total(given), now)
		if w != nil {
			given += one(w.class)
		}
		if q.slots.word.CompareAndSwap(word, given) {
			q.serve(w)
			return
		}
	}
}

// grant serves waiters as long as there is room for them.
func (q *queue) grant(now int64) {
	for {
		word := q.slots.word.Load()
		w := q.next(total(word), now)
		if w == nil {
			return
		}
		if q.slots.word.CompareAndSwap(word, word+one(w.class)) {
			q.serve(w)
		}
	}
}

// next is the waiter of the most important class that may run beside
// inFlight others, or nil.
func (q *queue) next(inFlight int, now int64) *waiter {
	for class := priority.Count - 1; class >= 0; class-- {
		if q.queued[class].Load() == 0 {
			continue
		}
		w := q.lines[class][0].next(now)
		if w == nil {
			w = q.lines[class][1].next(now)
		}
		if inFlight < w.stage.capOf(class) {
			return w
		}
	}
	return nil
}

// serve tells a waiter that it has a slot.
func (q *queue) serve(w *waiter) {
	if w == nil {
		return
	}
	q.remove(w)
	w.granted = true
	w.ready <- struct{}{}
}

// full reports whether a class, or a more important one, has no place left: nobody waits in a place that a more important request would be
// refused.
func (q *queue) full(class, bound int) bool {
	for ; class < priority.Count; class++ {
		if int(q.queued[class].Load()) >= bound {
			return true
		}
	}
	return false
}

func (q *queue) remove(w *waiter) {
	w.line.remove(w)
	q.moved(w, -1)
}

func (q *queue) moved(w *waiter, change int) {
	q.count += change
	q.queued[w.class].Add(int32(change))
	q.places.add(w.caller, int32(change))
}

func (q *queue) tellIfEmpty() {
	if q.count == 0 {
		q.slots.nobodyWaits()
	}
}

func (q *queue) newWaiter() *waiter {
	w := q.spare
	if w == nil {
		w = &waiter{ready: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		w.timer.Stop()
		return w
	}
	q.spare, w.next = w.next, nil
	q.kept--
	return w
}

// reuse keeps a waiter that is in no line for the next one who waits.
func (q *queue) reuse(w *waiter) {
	w.timer.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.kept < sparesKept {
		w.stage = nil
		w.next, q.spare = q.spare, w
		q.kept++
	}
}

func (l *line) push(w *waiter, now int64) {
	if l.length == 0 {
		l.since = now
	}
	w.previous, w.next = l.last, nil
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.length++
}

func (l *line) remove(w *waiter) {
	if w.previous == nil {
		l.first = w.next
	} else {
		w.previous.next = w.next
	}
	if w.next == nil {
		l.last = w.previous
	} else {
		w.next.previous = w.previous
	}
	w.previous, w.next = nil, nil
	l.length--
}

// next is who is served next, or nil.
func (l *line) next(now int64) *waiter {
	if l.length > 0 && now-l.since >= int64(standingAfter) {
		return l.last
	}
	return l.first
}
