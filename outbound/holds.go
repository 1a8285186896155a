package outbound

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// holds are the pauses that remote sides asked for, by key. They are bounded:
// the least recently used is forgotten.
type holds struct {
	mu    sync.Mutex
	until *simplelru.LRU[string, time.Time]
}

func newHolds(size int) (*holds, error) {
	until, err := simplelru.NewLRU[string, time.Time](size, nil)
	if err != nil {
		return nil, fmt.Errorf("outbound: remember %d pauses: %w", size, err)
	}
	return &holds{until: until}, nil
}

// extend holds a key back until a moment. A hold is never shortened: answers
// overtake each other, and the longest pause is right for all of them.
func (h *holds) extend(key string, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if current, ok := h.until.Get(key); !ok || current.Before(until) {
		h.until.Add(key, until)
	}
}

// left is how long a key is held back from now on; 0 when it is not.
func (h *holds) left(key string, now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, ok := h.until.Get(key)
	if !ok {
		return 0
	}
	if left := until.Sub(now); left > 0 {
		return left
	}
	h.until.Remove(key)
	return 0
}
