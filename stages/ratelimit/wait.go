package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/line"
	"github.com/plimsoll-go/plimsoll/store"
)

// Wait blocks until cost tokens of a key are taken, and any delay of them is
// over, first come first served among the calls of this Limiter. It gives up at once with ErrTooLong when it
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
			return l.delayed(ctx, id, cost, a)
		}
		if err := pause(ctx, a); err != nil {
			return err
		}
	}
}

// delayed waits for the delay of what was taken, or gives it back.
func (l *Limiter) delayed(ctx context.Context, key store.Key, cost int64, a Answer) error {
	if a.Delay == 0 {
		return nil
	}
	err := pause(ctx, Answer{Limit: a.Limit, RetryAfter: a.Delay})
	if err != nil {
		l.giveBack(context.WithoutCancel(ctx), key, store.Return{Tokens: cost, AnyGrant: true})
	}
	return err
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
