package otlp

import (
	"context"
	"time"
)

// queue holds what waits to be pushed. It is bounded: what comes when it is
// full is dropped and counted, so that nobody who puts something in waits.
type queue[T any] struct {
	batching
	items  chan T
	send   func(context.Context, []T) error
	counts *counts
	stop   chan struct{} // closed: send what is there, and end
	done   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc // ends a call that is under way
}

func newQueue[T any](b batching, c *counts, send func(context.Context, []T) error) *queue[T] {
	q := &queue[T]{batching: b, items: make(chan T, b.queue), send: send, counts: c, stop: make(chan struct{}), done: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background()) //nolint:gosec // shutdown calls it
	return q
}

// put leaves an item, or counts it as dropped.
func (q *queue[T]) put(item T) {
	select {
	case q.items <- item:
	default:
		q.counts.dropped.Add(1)
	}
}

// run pushes batches until it is stopped, and then what is left.
func (q *queue[T]) run() {
	defer close(q.done)
	ticker := time.NewTicker(q.delay)
	defer ticker.Stop()
	batch := make([]T, 0, q.batch)
	for {
		select {
		case item := <-q.items:
			if batch = append(batch, item); len(batch) < q.batch {
				continue
			}
		case <-ticker.C:
		case <-q.stop:
			q.finish(batch)
			return
		}
		batch = q.push(batch)
	}
}

// push makes one call, and returns the batch empty.
func (q *queue[T]) push(batch []T) []T {
	if len(batch) == 0 {
		return batch
	}
	ctx, cancel := context.WithTimeout(q.ctx, q.timeout)
	defer cancel()
	if !q.counts.ended(q.send(ctx, batch)) {
		q.counts.dropped.Add(uint64(len(batch)))
	}
	clear(batch)
	return batch[:0]
}

// finish pushes what is left. Once the time for it has run out, each call fails
// at once.
func (q *queue[T]) finish(batch []T) {
	for {
		select {
		case item := <-q.items:
			if batch = append(batch, item); len(batch) == q.batch {
				batch = q.push(batch)
			}
		default:
			q.push(batch)
			return
		}
	}
}

// shutdown ends run within the time of a context.
func (q *queue[T]) shutdown(ctx context.Context) {
	close(q.stop)
	defer q.cancel()
	select {
	case <-q.done:
	case <-ctx.Done():
		q.cancel()
		select { // the exporters mind their contexts; one that does not is left alone
		case <-q.done:
		case <-time.After(100 * time.Millisecond):
		}
	}
}
