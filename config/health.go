package config

import (
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// Health is how the store of a process does.
type Health struct {
	State store.State
	Since time.Time // when it became so; zero if it never was otherwise
	Cause error     // the last failure, unless the state is OK
}

// health keeps the last change of a guard's state, and tells it on.
type health struct {
	mu     sync.Mutex
	last   Health
	listen func(Health)
}

// changed is store.GuardConfig.OnState.
func (h *health) changed(state store.State, cause error) {
	h.mu.Lock()
	h.last = Health{state, time.Now(), cause}
	last, listen := h.last, h.listen
	h.mu.Unlock()
	if listen != nil {
		listen(last)
	}
}

// Health is how the store does now, and since when.
func (l *Live) Health() Health {
	l.health.mu.Lock()
	defer l.health.mu.Unlock()
	return l.health.last
}

// OnHealth has each change of the store's state told to a function, one at a
// time, from the background work of the pipeline. The last one given counts.
func (l *Live) OnHealth(listen func(Health)) {
	l.health.mu.Lock()
	defer l.health.mu.Unlock()
	l.health.listen = listen
}
