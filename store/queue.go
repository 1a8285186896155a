package store

import "sync"

// queue holds what is to be given back until the store takes it. It is bounded:
// what comes when it is full is dropped and counted; slots then come back when
// their lease ends, and tokens with time.
type queue struct {
	mu      sync.Mutex
	ring    []queued
	head, n int
	filled  chan struct{} // signalled when something was put in
}

// queued is a return and when it was first put in.
type queued struct {
	Return
	since int64
}

func newQueue(size int) *queue {
	return &queue{ring: make([]queued, size), filled: make(chan struct{}, 1)}
}

// put appends returns, and reports how many found no place.
func (q *queue) put(returns []Return, now int64) (dropped int) {
	q.mu.Lock()
	for i := range returns {
		if q.n == len(q.ring) {
			dropped++
			continue
		}
		q.ring[(q.head+q.n)%len(q.ring)] = queued{returns[i], now}
		q.n++
	}
	q.mu.Unlock()
	q.signal()
	return dropped
}

// putBack puts what take took before everything else again, as far as there
// are places.
func (q *queue) putBack(batch []queued) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := len(batch) - 1; i >= 0; i-- {
		if q.n == len(q.ring) {
			return i + 1
		}
		q.head = (q.head + len(q.ring) - 1) % len(q.ring)
		q.ring[q.head] = batch[i]
		q.n++
	}
	return 0
}

// take removes the oldest, at most so many.
func (q *queue) take(most int) (batch []queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range min(most, q.n) {
		batch = append(batch, q.ring[q.head])
		q.ring[q.head] = queued{}
		q.head = (q.head + 1) % len(q.ring)
		q.n--
	}
	return batch
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}

func (q *queue) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}
