package pipeline

import (
	"sync"

	"github.com/plimsoll-go/plimsoll/store"
)

// holders lists the requests that are in flight, for the renewal of their
// leases and for whoever asks what holds a slot. Sharded, so that requests
// seldom meet in a lock.
type holders struct {
	shards [16]holderShard
}

type holderShard struct {
	mu    sync.Mutex
	first *Request
	n     int
	_     [40]byte // a shard to a cache line
}

// holder is a request's place in the list.
type holder struct{ next, previous *Request }

func (h *holders) shard(r *Request) *holderShard {
	return &h.shards[r.admission.batch.ID.Lo%uint64(len(h.shards))]
}

func (h *holders) add(r *Request) {
	s := h.shard(r)
	s.mu.Lock()
	r.admission.holders = holder{next: s.first}
	if s.first != nil {
		s.first.admission.holders.previous = r
	}
	s.first = r
	s.n++
	s.mu.Unlock()
}

func (h *holders) remove(r *Request) {
	s := h.shard(r)
	s.mu.Lock()
	place := r.admission.holders
	if place.previous != nil {
		place.previous.admission.holders.next = place.next
	} else {
		s.first = place.next
	}
	if place.next != nil {
		place.next.admission.holders.previous = place.previous
	}
	s.n--
	s.mu.Unlock()
	r.admission.holders = holder{}
}

func (h *holders) len() (n int) {
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		n += s.n
		s.mu.Unlock()
	}
	return n
}

// each visits the requests in flight, shard by shard, under the shard's lock.
func (h *holders) each(visit func(*Request)) {
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		for r := s.first; r != nil; r = r.admission.holders.next {
			visit(r)
		}
		s.mu.Unlock()
	}
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
