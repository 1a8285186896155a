package store

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// What opens and closes a breaker. It opens on a share of many calls, because
// a handful fails whenever a machine is busy, unless the server itself says that
// it cannot decide; and only probes close it, because the calls of requests
// would each pay to find out.
const (
	windowFor     = time.Second // calls are counted over
	windowSlots   = 50
	enoughCalls   = 20   // to judge by: the last so many, and all of one slot at least
	enoughRamping = 5    // while calls are let back in
	downAt        = 0.5  // of the last calls failed
	degradedAt    = 0.1  // of the window's calls failed
	okBelow       = 0.05 // of the window's calls failed
	goodProbes    = 3    // in a row, to let calls back in
	badProbes     = 5    // in a row, to open when calls are too few to judge by
	unableCalls   = 3    // in a row that the server said it cannot decide, to open
	rampFor       = 300 * time.Millisecond
	rampFrom      = 0.1 // of the calls
)

// window counts calls and their failures over a moving second.
type window [windowSlots]struct {
	slot          int64
	calls, failed int
}

func (w *window) add(now int64, failed int) {
	slot := now / int64(windowFor/windowSlots)
	s := &w[slot%windowSlots]
	if s.slot != slot {
		*s = struct {
			slot          int64
			calls, failed int
		}{slot: slot}
	}
	s.calls++
	s.failed += failed
}

// sum counts back from now: the whole window, or as many slots as hold enough
// calls, the slot that is not over yet and the one before it at least.
func (w *window) sum(now int64, enough int) (calls, failed int) {
	slot := now / int64(windowFor/windowSlots)
	for back := range min(windowSlots, slot+1) {
		if back > 1 && calls >= enough {
			break
		}
		if s := &w[(slot-back)%windowSlots]; s.slot == slot-back {
			calls, failed = calls+s.calls, failed+s.failed
		}
	}
	return calls, failed
}

// all makes sum count the whole window.
const all = math.MaxInt

// health is what is known of a store, as arithmetic: moments are nanoseconds
// since the guard was made, and are given.
type health struct {
	state     State
	ramp      int64 // when calls were first let back in; 0 when all are made
	calls     window
	good, bad int   // probes in a row
	unable    int   // calls in a row
	cause     error // of the last failure, which may be long ago
}

// called takes note of how a call ended.
func (h *health) called(now int64, err error) {
	failed := 0
	if err != nil {
		failed, h.cause = 1, err
	}
	if h.state == Down { // it was asked before
		return
	}
	h.calls.add(now, failed)
	if failed == 0 {
		h.unable = 0
	} else if errors.Is(err, ErrUnable) {
		h.unable++
	}
	switch {
	case h.unable >= unableCalls:
		h.down()
	case failed > 0 || h.state != OK:
		h.judge(now)
	}
}

// judge finds the state from the calls of the last second.
func (h *health) judge(now int64) {
	if h.state == Down {
		return
	}
	ramping := h.ramp != 0 && now-h.ramp < int64(rampFor)
	enough := enoughCalls
	if ramping {
		enough = enoughRamping
	} else {
		h.ramp = 0
	}
	if calls, failed := h.calls.sum(now, enough); calls >= enough && share(failed, calls) >= downAt {
		h.down()
		return
	}
	calls, failed := h.calls.sum(now, all)
	switch {
	case ramping || calls >= enough && share(failed, calls) >= degradedAt:
		h.state = Degraded
	case share(failed, calls) < okBelow:
		h.state = OK
	}
}

func share(part, whole int) float64 { return float64(part) / float64(max(whole, 1)) }

func (h *health) down() {
	h.state, h.ramp, h.good, h.bad, h.unable = Down, 0, 0, 0, 0
}

// probed takes note of how a probe ended.
func (h *health) probed(now int64, err error) {
	if err != nil {
		h.good, h.bad, h.cause = 0, h.bad+1, err
		if h.bad >= badProbes && h.state != Down {
			h.down()
		}
		return
	}
	h.good, h.bad = h.good+1, 0
	if h.state == Down && h.good >= goodProbes {
		h.state, h.ramp, h.calls = Degraded, max(now, 1), window{}
	}
}

// suspect reports whether a probe would tell something: when all is well the
// calls do.
func (h *health) suspect(now int64) bool {
	_, failed := h.calls.sum(now, all)
	return h.state != OK || failed > 0
}

// pause is how long to wait before the next probe.
func (h *health) pause() time.Duration {
	switch {
	case h.state != Down:
	case h.good > 0:
		return probeAgain
	case h.bad > probesSoon:
		return probeRarely
	}
	return probeEvery
}

// rampShare is the share of calls that are made some time after they were let
// back in.
func rampShare(since time.Duration) float64 {
	return min(1, rampFrom+(1-rampFrom)*since.Seconds()/rampFor.Seconds())
}

// change is a change of state, and why.
type change struct {
	state State
	cause error
}

// breaker is the health of a store, shared by all who call it.
type breaker struct {
	state    atomic.Uint32 // of health, for who reads without the lock
	ramp     atomic.Int64  // the same
	answered atomic.Int64  // when the store last answered a call

	mu      sync.Mutex
	health  health
	changes chan change // for who reports them; the oldest are kept when it is full
	random  func() float64
}

func newBreaker(random func() float64) *breaker {
	return &breaker{changes: make(chan change, 16), random: random}
}

// admits reports whether a call may be made now.
func (b *breaker) admits(now int64) bool {
	switch State(b.state.Load()) {
	case Down:
		return false
	case Degraded:
		if began := b.ramp.Load(); began != 0 {
			return b.random() < rampShare(time.Duration(now-began))
		}
	case OK:
	}
	return true
}

// called takes note of a call's end, and reports whether it failed. An error
// about one key is an answer: the store is there.
func (b *breaker) called(now int64, err error) (failed bool) {
	if err != nil && errors.Is(err, ErrKey) {
		err = nil
	}
	if err == nil {
		b.answered.Store(now)
	}
	b.update(func(h *health) { h.called(now, err) })
	return err != nil
}

// update changes the health under the lock, and publishes it.
func (b *breaker) update(change func(*health)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.health.state
	change(&b.health)
	b.publish(before)
}

func (b *breaker) publish(before State) {
	after := b.health.state
	b.ramp.Store(b.health.ramp)
	b.state.Store(uint32(after))
	if before == after {
		return
	}
	cause := b.health.cause
	if after == OK {
		cause = nil
	}
	select {
	case b.changes <- change{after, cause}:
	default:
	}
}

func (b *breaker) suspect(now int64) (yes bool) {
	b.update(func(h *health) {
		h.judge(now)
		yes = h.suspect(now)
	})
	return yes
}

func (b *breaker) pause() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.health.pause()
}
