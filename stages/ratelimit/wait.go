package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/line"
	"github.com/plimsoll-go/plimsoll/store"
)

// Wait blocks until cost tokens of a key are taken, first come first served
// among the calls of this Limiter. It gives up at once with ErrTooLong when it
// can see that the context would end first, or that no wait helps, and with
// ErrWaiters when the line is full; nothing is taken then.
func (l *Limiter) Wait(ctx context.Context, key string, cost int64) error {
	id := keyOf(key)
	leave, err := l.lines.Join(ctx, id)
	if errors.Is(err, line.ErrFull) {
		return ErrWaiters
	}
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
