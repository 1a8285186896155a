package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// ask makes the one store call of a request, and turns its answer into a
// decision. It reports whether the request goes on.
func (p *Pipeline) ask(ctx context.Context, r *Request) bool {
	a := &r.admission
	switch a.storePanics {
	case 0:
	case 1:
		p.endAsking(r)
		return p.askLocal(ctx, r, errStorePanicked)
	default: // the local store too: what is left of the policies is open
		a.batch.Claims = a.batch.Claims[:0]
		return true
	}
	if n := len(a.batch.Claims); cap(a.batch.Grants) < n {
		a.batch.Grants = make([]store.Grant, n, max(n, 8))
	} else {
		a.batch.Grants = a.batch.Grants[:n]
		clear(a.batch.Grants)
	}
	a.identify()
	if err := p.claimOf(ctx, r); err != nil {
		return p.askLocal(ctx, r, err)
	}
	return p.judge(r)
}

// claimOf makes the call, and times it where it takes time.
func (p *Pipeline) claimOf(ctx context.Context, r *Request) error {
	if !p.store.Remote() {
		return p.store.Claim(ctx, &r.admission.batch)
	}
	begun := p.Now()
	p.beginAsking(r)
	err := p.store.Claim(ctx, &r.admission.batch)
	p.endAsking(r)
	r.Waits.Store, r.Waits.Unanswered = max(p.Now()-begun, 1), err != nil
	return err
}

// beginAsking lets the entry that may wait count the request as queued while
// it asks a remote store.
func (p *Pipeline) beginAsking(r *Request) {
	a := &r.admission
	if a.plan.waiting < 0 {
		return
	}
	e := &a.plan.entries[a.plan.waiting]
	if e.Mode == Enforce && !e.off() {
		a.asking = true
		e.waiter.Ask(r)
	}
}

func (p *Pipeline) endAsking(r *Request) {
	a := &r.admission
	if a.asking {
		a.asking = false
		a.plan.entries[a.plan.waiting].waiter.Asked(r)
	}
}

// judge reads the grants: the refusal with the longest wait is the request's,
// the grant with the least left is what headers will say.
func (p *Pipeline) judge(r *Request) bool {
	a := &r.admission
	enforced, shadow := -1, -1
	a.granted = true
	for i := range a.batch.Grants {
		switch {
		case a.batch.Grants[i].OK:
			if a.batch.Claims[i].Group == store.Enforced {
				r.Detail.least(&a.batch.Claims[i], &a.batch.Grants[i])
				a.delay = max(a.delay, a.batch.Grants[i].Delay)
			}
		case a.batch.Claims[i].Group == store.Shadow:
			if shadow < 0 {
				shadow = i
			}
		case enforced < 0 || longer(a.batch.Grants[i].RetryAfter, a.batch.Grants[enforced].RetryAfter):
			enforced = i
		}
	}
	if enforced >= 0 {
		a.granted = false
		claim := &a.batch.Claims[enforced]
		r.Detail.refused(claim, &a.batch.Grants[enforced])
		p.refused(r, int(claim.Tag), Refuse(reasonOf(claim, &a.batch.Grants[enforced])))
		return false
	}
	if shadow >= 0 {
		claim := &a.batch.Claims[shadow]
		kept := r.Detail
		p.refused(r, int(claim.Tag), Refuse(reasonOf(claim, &a.batch.Grants[shadow])))
		r.Detail = kept
	} else {
		a.shadow = true
	}
	return true
}

// askLocal applies each entry's fault policy after the store gave no answer:
// closed refuses, open drops its claims, local asks the embedded store.
func (p *Pipeline) askLocal(ctx context.Context, r *Request, cause error) bool {
	a := &r.admission
	kept := a.batch.Claims[:0]
	told := uint32(0)
	for _, c := range a.batch.Claims {
		e := &a.plan.entries[c.Tag]
		if told&(1<<c.Tag) == 0 {
			told |= 1 << c.Tag
			p.observer.Fault(r, int(c.Tag), Fault{Kind: StoreFault, Err: cause})
		}
		if e.Mode == Enforce && e.OnFault == Closed {
			p.refused(r, int(c.Tag), Refuse(StoreUnavailable))
			return false
		}
		if e.OnFault == Local {
			kept = append(kept, c)
		}
	}
	a.batch.Claims = kept
	a.batch.Grants = a.batch.Grants[:len(kept)]
	clear(a.batch.Grants)
	if len(kept) == 0 {
		return true
	}
	if err := p.store.ClaimLocal(ctx, &a.batch); err != nil {
		a.batch.Claims = kept[:0] // no local store: open, which is the least that local promises
		return true
	}
	a.local = true
	return p.judge(r)
}

var errStorePanicked = errors.New("pipeline: the store panicked")

func longer(a, b time.Duration) bool { return a == store.Never || b != store.Never && a > b }

func reasonOf(c *store.Claim, g *store.Grant) Reason {
	switch {
	case c.Limit.Kind == store.Slots:
		return TooManyInFlight
	case g.RetryAfter == store.Never:
		return CostTooLarge
	default:
		return RateLimited
	}
}

// refused fills the detail from a refusal.
func (d *Detail) refused(c *store.Claim, g *store.Grant) {
	d.Rule, d.Limit = c.Limit.Name, c.Limit
	d.Remaining, d.RetryAfter, d.ResetAfter = g.Remaining, g.RetryAfter, g.ResetAfter
}

// least fills the detail from a grant of tokens, if less is left of it than of
// the one that stands there.
func (d *Detail) least(c *store.Claim, g *store.Grant) {
	if c.Limit.Kind == store.Tokens && (d.Limit == nil || g.Remaining < d.Remaining) {
		d.Rule, d.Limit = c.Limit.Name, c.Limit
		d.Remaining, d.RetryAfter, d.ResetAfter = g.Remaining, 0, g.ResetAfter
	}
}
