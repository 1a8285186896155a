package redisstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-go/plimsoll/store"
)

// haunted are slots that may be held by calls whose askers are gone, and that
// could not be given back yet. One goroutine tries again, however many there are.
type haunted struct {
	mu     sync.Mutex
	slots  []store.Return
	trying bool
}

// How long it is tried, at first after a quarter of a second and then ever less
// often, for each try may cost a connection. Leases end the rest.
const (
	reclaimSoon = 250 * time.Millisecond
	reclaimLast = 4 * time.Second
)

// ghosts is what gives back all that a call whose asker is gone may hold: what
// it was granted or, where that is not known, its slots. Who asked has given
// those back too, and that may have come before the call.
func (c *call) ghosts() (back []store.Return) {
	switch {
	case c.err == nil:
		return c.granted()
	case c.batch.Peek || errors.Is(c.err, store.ErrKey):
		return nil
	}
	for i := range c.batch.Claims {
		if c.batch.Claims[i].Limit.Kind == store.Slots {
			back = append(back, returnOf(&c.batch, i, c.batch.Now+int64(time.Since(c.begun))))
		}
	}
	return back
}

// reclaim gives back what nobody asked for any more. What fails is tried again
// if it is a slot: tokens given back twice would be tokens for nothing.
func (s *Store) reclaim(ghosts []store.Return) {
	h := s.haunted
	if s.giveUp(ghosts) == nil || !h.add(ghosts) {
		return
	}
	for wait := reclaimSoon; ; wait = min(2*wait, reclaimLast) {
		time.Sleep(wait)
		slots, last := h.take(), wait == reclaimLast
		err := s.giveUp(slots)
		if last || errors.Is(err, redis.ErrClosed) {
			h.end()
			return
		}
		if err == nil {
			slots = nil
		}
		if !h.keep(slots) {
			return
		}
	}
}

func (s *Store) giveUp(ghosts []store.Return) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*s.patience.base)
	defer cancel()
	return s.Return(ctx, ghosts)
}

// add puts slots on the list, and reports whether the caller is to try.
func (h *haunted) add(ghosts []store.Return) (mine bool) {
	slots := slices.DeleteFunc(ghosts, func(r store.Return) bool { return r.Limit.Kind != store.Slots })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots = append(h.slots, slots...)
	mine = !h.trying && len(h.slots) > 0
	h.trying = h.trying || mine
	return mine
}

func (h *haunted) take() []store.Return {
	h.mu.Lock()
	defer h.mu.Unlock()
	slots := h.slots
	h.slots = nil
	return slots
}

// keep puts slots back, and reports whether there are any to try.
func (h *haunted) keep(slots []store.Return) (more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots = append(h.slots, slots...)
	h.trying = len(h.slots) > 0
	return h.trying
}

func (h *haunted) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots, h.trying = nil, false
}
