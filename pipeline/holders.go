package pipeline

import (
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/plimsoll-go/plimsoll/store"
)

// holders knows the requests that are in flight, for the renewal of their
// leases and for whoever asks what holds a slot.
//
// Requests are used again and again, so each is entered once, when it is first
// admitted, and is found in flight by its own state from then on: to begin and
// to end costs no lock, and touches no other request. Those that are gone are
// forgotten: the list does not keep them.
type holders struct {
	mu    sync.Mutex
	list  []weak.Pointer[Request]
	sweep int // the length at which those that are gone are looked for
}

const leastSweep = 64

// add makes a request one in flight, in a state that is not free.
func (h *holders) add(r *Request, state uint32) {
	if r.admission.listed != h {
		h.enter(r)
	}
	r.admission.identify()
	r.admission.state.Store(state)
}

func (h *holders) enter(r *Request) {
	if before := r.admission.listed; before != nil { // it is another pipeline's now
		before.forget(r)
	}
	r.admission.listed = h
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) >= h.sweep {
		h.list = slices.DeleteFunc(h.list, func(w weak.Pointer[Request]) bool { return w.Value() == nil })
		h.sweep = max(leastSweep, 2*len(h.list))
	}
	h.list = append(h.list, weak.Make(r))
}

func (h *holders) forget(r *Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = slices.DeleteFunc(h.list, func(w weak.Pointer[Request]) bool { return w.Value() == r })
}

func (h *holders) len() (n int) {
	h.requests(func(r *Request) {
		if r.admission.state.Load() != free {
			n++
		}
	})
	return n
}

func (h *holders) requests(visit func(*Request)) {
	h.mu.Lock()
	list := slices.Clone(h.list)
	h.mu.Unlock()
	for _, w := range list {
		if r := w.Value(); r != nil {
			visit(r)
		}
	}
}

// each visits the requests in flight. Their end waits until they were seen, so
// visit must be short and must not end one.
func (h *holders) each(visit func(*Request)) {
	h.requests(func(r *Request) {
		if state, inFlight := r.admission.show(); inFlight {
			visit(r)
			r.admission.state.Store(state)
		}
	})
}

// slotsHeld appends the slots of requests that began before a moment.
func (h *holders) slotsHeld(before, now int64, to []store.Return) []store.Return {
	h.each(func(r *Request) {
		a := &r.admission
		if a.batch.Now > before || !a.granted || a.local {
			return
		}
		for i := range a.batch.Claims {
			c := &a.batch.Claims[i]
			if c.Limit.Kind != store.Slots || c.Group == store.Shadow && !a.shadow {
				continue
			}
			to = append(to, store.Return{
				ID: a.batch.ID, Owner: c.Owner, Limit: c.Limit, Handle: a.batch.Grants[i].Handle, At: a.batch.Now, Now: now,
			})
		}
	})
	return to
}

// The states of an admission. While somebody else reads it, or it is changed in
// flight, shown is added, and its end waits.
const (
	free uint32 = iota // not in flight
	held               // admitted, and not released
	kept               // granted by the store, and kept back until its turn
)

const shown uint32 = 4

// show keeps an admission as it is, until its state is stored again. It reports
// false if it is not in flight.
func (a *admission) show() (state uint32, inFlight bool) {
	for {
		switch state = a.state.Load(); {
		case state == free:
			return free, false
		case state&shown != 0:
			runtime.Gosched()
		case a.state.CompareAndSwap(state, state|shown):
			return state, true
		}
	}
}

// end ends a state, and reports false if the admission is not in it.
func (a *admission) end(state uint32) bool {
	for !a.state.CompareAndSwap(state, free) {
		if a.state.Load()&^shown != state { // not: it was shown a moment ago
			return false
		}
		runtime.Gosched()
	}
	return true
}
