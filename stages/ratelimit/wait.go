package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// Wait blocks until cost tokens of a key are taken, first come first served
// among the calls of this Limiter. It gives up at once with ErrTooLong when it
// can see that the context would end first, or that no wait helps, and with
// ErrWaiters when the line is full; nothing is taken then.
func (l *Limiter) Wait(ctx context.Context, key string, cost int64) error {
	id := keyOf(key)
	leave, err := l.queues.join(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	for {
		a, err := l.claim(ctx, id, cost, taking)
		if err != nil {
			return err
		}
		if a.Allowed {
			return nil
		}
		if err := pause(ctx, a); err != nil {
			return err
		}
	}
}

// pause waits until a refused call could pass.
func pause(ctx context.Context, a Answer) error {
	if a.RetryAfter == store.Never {
		return fmt.Errorf("%w: the cost is above what %s can ever grant", ErrTooLong, a.Limit)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < a.RetryAfter {
		return fmt.Errorf("%w: %s under %s", ErrTooLong, a.RetryAfter, a.Limit)
	}
	timer := time.NewTimer(a.RetryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// queues are the lines before keys, one for each key that is waited for.
type queues struct {
	max   int
	mu    sync.Mutex
	lines map[store.Key]*line
}

// line is a lock that is handed over in order of arrival.
type line struct {
	waiting []chan struct{} // those behind the one that is at the front
	front   bool
}

// join waits until the call is at the front of the key's line.
func (q *queues) join(ctx context.Context, key store.Key) (leave func(), err error) {
	q.mu.Lock()
	if q.lines == nil {
		q.lines = map[store.Key]*line{}
	}
	l := q.lines[key]
	if l == nil {
		l = &line{}
		q.lines[key] = l
	}
	leave = func() { q.leave(key, l) }
	if !l.front {
		l.front = true
		q.mu.Unlock()
		return leave, nil
	}
	if len(l.waiting) >= q.max {
		q.mu.Unlock()
		return nil, ErrWaiters
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		q.abandon(key, l, turn)
		return nil, context.Cause(ctx)
	}
}

// leave hands the front to the next in line.
func (q *queues) leave(key store.Key, l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(l.waiting) == 0 {
		delete(q.lines, key)
		return
	}
	close(l.waiting[0])
	l.waiting = l.waiting[1:]
}

// abandon takes a call out of the line, or passes the front on when it was
// handed over at the very moment of leaving.
func (q *queues) abandon(key store.Key, l *line, turn chan struct{}) {
	q.mu.Lock()
	for i, other := range l.waiting {
		if other == turn {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			q.mu.Unlock()
			return
		}
	}
	q.mu.Unlock()
	q.leave(key, l)
}
