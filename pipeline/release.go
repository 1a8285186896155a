package pipeline

import (
	"context"
	"math/bits"

	"github.com/plimsoll-go/plimsoll/store"
)

// holds reports whether there is something to give back.
func (a *admission) holds() bool { return a.held != 0 || a.granted || a.asking }

// unwind gives back all that a request holds: local permits last in first out,
// then the store's part.
func (p *Pipeline) unwind(r *Request, result Result) {
	p.endAsking(r) // still asking when the walk was interrupted in the store
	if result.At == 0 && r.admission.held != 0 {
		result.At = p.Now()
	}
	p.releasePermits(r, result, Enforce)
	p.settle(r, result)
}

// releasePermits releases the held permits, those of shadow entries only when
// that is the mode asked for. Each release is contained on its own.
func (p *Pipeline) releasePermits(r *Request, result Result, mode Mode) {
	a := &r.admission
	if result.At == 0 && a.held != 0 { // a virtual request that ends
		result.At = p.Now()
	}
	due := a.held
	if mode == Shadow {
		due &= a.plan.shadow
	}
	for due != 0 && !p.releaseEach(r, &due, result) {
		// An entry panicked; those that were taken before it are still due.
	}
}

// releaseEach releases what is due, and reports false if it was interrupted by
// a panic. One deferred call serves them all.
func (p *Pipeline) releaseEach(r *Request, due *uint32, result Result) (done bool) {
	a, i := &r.admission, 0
	defer func() {
		if done {
			return
		}
		if value := recover(); value != nil {
			p.panicked(r, i, value)
		}
	}()
	for *due != 0 {
		i = bits.Len32(*due) - 1
		*due &^= 1 << i
		a.held &^= 1 << i
		a.plan.entries[i].taker.Release(r, a.permits[i], result)
	}
	return true
}

func (p *Pipeline) learnOne(r *Request, i int, result Result) {
	defer func() {
		if value := recover(); value != nil {
			p.panicked(r, i, value)
		}
	}()
	if e := &r.admission.plan.entries[i]; !e.off() {
		e.learner.Learn(r, result)
	}
}

// settle gives the store's part back: slots always, tokens when the work did
// not run, the difference when the cost turned out to be another.
func (p *Pipeline) settle(r *Request, result Result) {
	a := &r.admission
	if !a.granted {
		return
	}
	a.granted = false
	groups := only(store.Enforced)
	if a.shadow {
		groups |= only(store.Shadow)
	}
	p.giveBack(r, result, groups)
}

// settleShadow gives back what the shadow group was granted, when the virtual
// request ends before the real one.
func (p *Pipeline) settleShadow(r *Request) {
	a := &r.admission
	if !a.shadow {
		return
	}
	a.shadow = false
	p.giveBack(r, Result{Outcome: NotRun}, only(store.Shadow))
}

// groups is a set of groups.
type groups uint8

func only(g store.Group) groups { return 1 << g }

func (p *Pipeline) giveBack(r *Request, result Result, concerned groups) {
	a := &r.admission
	returns, now := a.returns[:0], result.At
	for i := range a.batch.Claims {
		c := &a.batch.Claims[i]
		back, due := dueBack(c, &result)
		if !due || concerned&only(c.Group) == 0 {
			continue
		}
		if now == 0 {
			now = p.Now()
		}
		returns = append(returns, store.Return{}) // filled where it lies: to copy it costs as much as to give it back
		b := &returns[len(returns)-1]
		b.ID, b.Owner, b.Limit, b.Handle = a.batch.ID, c.Owner, c.Limit, a.batch.Grants[i].Handle
		b.At, b.Now, b.Tokens = a.batch.Now, max(now, a.batch.Now), back
	}
	a.returns = returns
	switch {
	case len(returns) == 0:
	case a.local:
		p.store.ReturnLocal(context.Background(), returns)
	default:
		p.store.Return(context.Background(), returns)
	}
}

// dueBack is what one claim has to give back, or be charged for, at the end.
func dueBack(c *store.Claim, result *Result) (tokens int64, due bool) {
	switch {
	case c.Limit.Kind == store.Slots:
		return 0, true
	case result.Outcome == NotRun:
		return c.Cost, true
	case c.Limit.ChargeAfter && result.Cost > 0 && result.Cost != c.Cost:
		return c.Cost - result.Cost, true
	}
	return 0, false
}
