package outbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/line"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

// Transport is an http.RoundTripper that keeps calls inside a quota. It is safe
// for concurrent use.
type Transport struct {
	c     Config
	lines line.Lines[string]
	holds *holds
}

var _ http.RoundTripper = (*Transport)(nil)

// New makes a transport. The error names every fault of the configuration.
func New(c Config) (*Transport, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	h, err := newHolds(c.MaxHolds)
	if err != nil {
		return nil, err
	}
	return &Transport{c: c, lines: line.Lines[string]{Max: c.MaxWaiters}, holds: h}, nil
}

// RoundTrip sends a call when the quota and the remote side allow it. Redirects
// that http.Client follows are calls of their own. A call that was not sent has
// its body closed and the error *QuotaError, ErrWaiters, the context's, or the
// limiter's, when that cannot ask its store.
//
// The tokens of a call that was sent stay spent whatever becomes of it: who
// got no answer does not know whether the remote side counted.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	key := t.c.Key(r)
	if err := t.admit(r, key); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	response, err := t.c.Base.RoundTrip(r)
	if err == nil {
		now := time.Now()
		if pause := min(asked(response, now), t.c.MaxHold); pause > 0 {
			t.holds.extend(key, now.Add(pause))
		}
	}
	return response, err
}

// CloseIdleConnections closes those of the base transport.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.c.Base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// admit takes the tokens of a call, or says why it may not go.
func (t *Transport) admit(r *http.Request, key string) error {
	ctx, cost := r.Context(), max(t.c.Cost(r), 1)
	if t.c.Mode == FailFast {
		_, err := t.try(ctx, key, cost)
		return err
	}
	leave, err := t.lines.Join(ctx, key)
	if errors.Is(err, line.ErrFull) {
		return fmt.Errorf("%w: %s", ErrWaiters, key)
	} else if err != nil {
		return err
	}
	defer leave()
	for {
		refused, err := t.try(ctx, key, cost)
		if refused == nil {
			return err
		}
		if err := pause(ctx, refused); err != nil {
			return err
		}
	}
}

// try takes the tokens if the call may go now. A hold is asked first, each
// time: it may have come while the call waited for tokens, and what it holds
// back must not spend any. A refusal is the error, too.
func (t *Transport) try(ctx context.Context, key string, cost int64) (refused *QuotaError, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if left := t.holds.left(key, time.Now()); left > 0 {
		refused = &QuotaError{Key: key, Limit: Remote, RetryAfter: left}
		return refused, refused
	}
	a, err := t.take(ctx, key, cost)
	if err != nil || a.Allowed {
		return nil, err
	}
	refused = &QuotaError{Key: key, Limit: a.Limit, RetryAfter: a.RetryAfter}
	return refused, refused
}

func (t *Transport) take(ctx context.Context, key string, cost int64) (ratelimit.Answer, error) {
	a, err := t.c.Limiter.Take(ctx, key, cost)
	if err != nil {
		return a, fmt.Errorf("outbound: take tokens of %s: %w", key, err)
	}
	return a, nil
}

// pause waits until a refused call could go. It gives up at once when it can
// see that waiting does not help, so that nobody waits behind it for nothing.
func pause(ctx context.Context, refused *QuotaError) error {
	if refused.RetryAfter == store.Never {
		return refused
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < refused.RetryAfter {
		return refused
	}
	timer := time.NewTimer(refused.RetryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
