package insight

import (
	"slices"
	"sync"
	"time"
)

// Event is something that happened to a worker or was done to it.
type Event struct {
	At   int64  `json:"at"`            // nanoseconds since the epoch
	Kind string `json:"kind"`          // control, store, config, level, limit, …
	What string `json:"what"`          // a sentence
	Who  string `json:"who,omitzero"`  // who did it, if somebody did
	From string `json:"from,omitzero"` // before
	To   string `json:"to,omitzero"`   // after
}

// EventsFor is how far back events are kept, at most maxEvents of them.
const (
	EventsFor = time.Hour
	maxEvents = 1024
)

// events keeps the last ones.
type events struct {
	mu   sync.Mutex
	kept []Event
}

// Note remembers an event; At is now if it is 0.
func (r *Recorder) Note(e Event) {
	if e.At == 0 {
		e.At = r.now()
	}
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	if len(r.events.kept) == maxEvents {
		r.events.kept = slices.Delete(r.events.kept, 0, maxEvents/8)
	}
	r.events.kept = append(r.events.kept, e)
}

// Events lists what happened in the last hour and others that the caller adds,
// in the order of time.
func (r *Recorder) Events(others ...Event) []Event {
	from := r.now() - int64(EventsFor)
	r.events.mu.Lock()
	list := slices.Concat(r.events.kept, others)
	r.events.mu.Unlock()
	list = slices.DeleteFunc(list, func(e Event) bool { return e.At < from })
	slices.SortStableFunc(list, func(a, b Event) int { return int(min(max(a.At-b.At, -1), 1)) })
	return list
}
