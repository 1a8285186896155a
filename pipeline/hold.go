package pipeline

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// DefaultMaxHeld is how many requests a pipeline holds back at once.
const DefaultMaxHeld = 10_000

// hold keeps a request back that a leaky bucket admitted ahead of its rate,
// until its turn. The store has answered, and nothing local is taken yet, so
// who is held occupies no place of the worker; slots in the store it does, and
// they are renewed meanwhile. It reports whether the request goes on: it is
// refused at once where its deadline would pass first, or too many are held
// already, and leaves when its context ends; what it was granted then goes back.
func (p *Pipeline) hold(ctx context.Context, r *Request) bool {
	a := &r.admission
	if a.delay == 0 {
		return true
	}
	i, start := a.longestHeld(), p.Now()
	n := p.holding.Add(1)
	defer p.holding.Add(-1)
	if n > p.maxHeld || !lasts(ctx, r, start, a.delay) {
		c, g := &a.batch.Claims[i], a.batch.Grants[i]
		g.RetryAfter = a.delay
		r.Detail.refused(c, &g)
		return !p.refused(r, int(c.Tag), Refuse(RateLimited))
	}
	p.holders.add(r, kept)
	left := sleep(ctx, a.delay)
	a.end(kept)
	r.Waits.Delay = max(p.Now()-start, 1)
	return !left || !p.refused(r, int(a.batch.Claims[i].Tag), Decision{Verdict: Abandon})
}

// longestHeld is the enforced claim that holds a request the longest.
func (a *admission) longestHeld() (longest int) {
	for i := range a.batch.Grants {
		if a.batch.Claims[i].Group == store.Enforced && a.batch.Grants[i].Delay == a.delay {
			return i
		}
	}
	return 0
}

// lasts reports whether who asks still waits when a delay is over.
func lasts(ctx context.Context, r *Request, now int64, delay time.Duration) bool {
	if r.Deadline != 0 && r.Deadline-now < int64(delay) {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) >= delay
}

// sleep waits for a time, and reports whether the context ended first.
func sleep(ctx context.Context, d time.Duration) (left bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-ctx.Done():
		return true
	}
}
