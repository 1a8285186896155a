package pipeline

import (
	"context"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"

	"github.com/plimsoll-go/plimsoll/store"
)

// walk runs the passes from where the request stands, and reports whether it
// came to a decision. One deferred call contains the panics of all entries.
func (p *Pipeline) walk(ctx context.Context, r *Request) (done bool) {
	defer func() {
		if !done { // else there is nothing to recover from, and to ask costs a few nanoseconds
			done = p.contain(r, recover())
		}
	}()
	a := &r.admission
	if a.pass == looking {
		if !p.look(r) {
			return true
		}
		a.pass, a.cursor, a.storePanics = claiming, 0, 0
	}
	if a.pass == claiming {
		if !a.remembers && !p.collect(r) {
			return true
		}
		a.pass = storing
	}
	if a.pass == storing {
		if len(a.batch.Claims) > 0 && !(p.ask(ctx, r) && p.hold(ctx, r)) {
			return true
		}
		a.pass, a.cursor = taking, 0
	}
	p.take(ctx, r)
	return true
}

// look asks every entry that has something to say from memory; it holds
// nothing, so a refusal is final. While there are refusals to remember, what an
// entry will ask of the store is part of its look; else collect does that for
// those requests that all looks admit.
func (p *Pipeline) look(r *Request) (passed bool) {
	a := &r.admission
	asked := a.plan.looks
	if a.remembers {
		asked |= a.plan.sharers
	}
	for left := asked & from(a.cursor); left != 0; left &= left - 1 {
		i := bits.TrailingZeros32(left)
		e := &a.plan.entries[i]
		a.cursor = i
		if e.refusesAll() {
			return !p.refused(r, i, Refuse(StoreUnavailable))
		}
		if e.off() || e.Mode == Shadow && !a.virtual {
			continue
		}
		var d Decision
		if a.plan.looks&(1<<i) != 0 {
			d = e.Stage.Look(r)
		}
		if d.Verdict == Admit && a.remembers && e.sharer != nil {
			d = p.remembered(r, p.claim(r, i, e))
		}
		if d.Verdict != Admit && p.refused(r, i, d) {
			return false
		}
		if e.Mode == Shadow {
			r.Detail = Detail{}
		}
	}
	return true
}

// collect collects what the entries will ask of the store.
func (p *Pipeline) collect(r *Request) (passed bool) {
	a := &r.admission
	for left := a.plan.sharers & from(a.cursor); left != 0; left &= left - 1 {
		i := bits.TrailingZeros32(left)
		e := &a.plan.entries[i]
		a.cursor = i
		switch {
		case e.refusesAll():
			return !p.refused(r, i, Refuse(StoreUnavailable))
		case e.off(), e.Mode == Shadow && !a.virtual:
		default:
			p.claim(r, i, e)
		}
	}
	return true
}

// claim collects an entry's claims, and returns them.
func (p *Pipeline) claim(r *Request, i int, e *entry) []store.Claim {
	a := &r.admission
	group := store.Enforced
	if e.Mode == Shadow {
		group = store.Shadow
	}
	before := len(a.batch.Claims)
	a.batch.Claims = e.sharer.Claims(r, a.batch.Claims)
	claims := a.batch.Claims[before:]
	for j := range claims {
		claims[j].Tag, claims[j].Group = uint8(i), group
	}
	return claims
}

// remembered refuses claims that are remembered to have been refused.
func (p *Pipeline) remembered(r *Request, claims []store.Claim) Decision {
	var g store.Grant
	i, denied := p.store.DeniedAny(claims, r.Now, &g)
	if !denied {
		return Decision{}
	}
	r.Detail.refused(&claims[i], &g)
	return Refuse(reasonOf(&claims[i], &g))
}

// take takes the local permits in order.
func (p *Pipeline) take(ctx context.Context, r *Request) {
	a := &r.admission
	for left := a.plan.takers & from(a.cursor); left != 0; left &= left - 1 {
		i := bits.TrailingZeros32(left)
		e := &a.plan.entries[i]
		a.cursor = i
		if e.off() || e.Mode == Shadow && !a.virtual {
			continue
		}
		if r.NoWait = e.Mode == Shadow; r.NoWait {
			if p.takeInShadow(ctx, r, i) {
				return
			}
			continue
		}
		d := e.taker.Take(ctx, r)
		if d.Verdict != Admit {
			p.refused(r, i, d)
			return
		}
		a.hold(i, d.Permit)
	}
}

// takeInShadow takes the permit of an entry in shadow. It reports whether that
// ends the walk, because the client has left.
func (p *Pipeline) takeInShadow(ctx context.Context, r *Request, i int) (ends bool) {
	a, kept := &r.admission, r.Detail
	d := a.plan.entries[i].taker.Take(ctx, r)
	if d.Verdict == Admit {
		a.hold(i, d.Permit)
		return false
	}
	ends = p.refused(r, i, d)
	if !ends {
		r.Detail = kept
	}
	return ends
}

func (a *admission) hold(i int, p Permit) {
	a.permits[i%maxEntries] = p
	a.held |= 1 << i
}

// from is the set of the entries from one on.
func from(i int) uint32 { return ^uint32(0) << i }

// refused notes a refusal and reports whether it is the request's. In shadow
// it ends the virtual request only: what shadow entries held goes back, and
// later ones are not asked, as they would not be if this one were enforced.
func (p *Pipeline) refused(r *Request, i int, d Decision) bool {
	a := &r.admission
	d.Entry = uint8(i)
	d.Permit = 0
	if a.plan.entries[i].Mode != Shadow || d.Verdict == Abandon {
		a.decision = d
		return true
	}
	a.virtual = false
	p.observer.Shadowed(r, d)
	switch a.pass {
	case looking:
		a.batch.Claims = slices.DeleteFunc(a.batch.Claims, func(c store.Claim) bool { return c.Group == store.Shadow })
	case claiming: // who refuses here is enforced
	case storing: // the driver granted none of the shadow claims
	case taking:
		p.releasePermits(r, Result{Outcome: NotRun}, Shadow)
		p.settleShadow(r)
	}
	return false
}

// contain turns a panic into the fault policy of whoever panicked: of the
// entry, behind which the walk resumes, or of the store.
// It reports whether that decides.
func (p *Pipeline) contain(r *Request, value any) (done bool) {
	a := &r.admission
	if value == nil { // the goroutine exits
		return false
	}
	if a.pass == storing {
		a.storePanics++
		p.logger.Error("store panicked", "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
		return false
	}
	i := a.cursor
	a.cursor++
	p.panicked(r, i, value)
	if e := &a.plan.entries[i]; e.Mode == Enforce && e.OnFault == Closed {
		return p.refused(r, i, Refuse(StoreUnavailable))
	}
	return false
}

// panicked counts a panic against its entry, and switches the entry off when
// it panics again and again.
func (p *Pipeline) panicked(r *Request, i int, value any) {
	e := &r.admission.plan.entries[i]
	err := fmt.Errorf("pipeline: %s panicked: %v\n%s", e.Name, value, debug.Stack())
	p.observer.Fault(r, i, Fault{Kind: PanicFault, Err: err})
	n := e.panics.Add(1)
	if n <= panicLimit {
		p.logger.Error("stage panicked", "entry", e.Name, "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
	}
	if n == panicLimit {
		p.observer.Fault(r, i, Fault{Kind: SwitchedOff, Err: err})
		p.logger.Error("stage switched off until the next plan: it panicked too often", "entry", e.Name, "panics", n)
	}
}
