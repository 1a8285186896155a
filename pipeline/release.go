package pipeline

import (
	"context"
	"math/bits"

	"github.com/plimsoll-go/plimsoll/store"
)

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
	for left := a.held; left != 0; {
		i := bits.Len32(left) - 1
		left &^= 1 << i
		if mode == Shadow && a.plan.entries[i].Mode != Shadow {
			continue
		}
		a.held &^= 1 << i
		p.releaseOne(r, i, result)
	}
}

func (p *Pipeline) releaseOne(r *Request, i int, result Result) {
	defer func() {
		if value := recover(); value != nil {
			p.panicked(r, i, value)
		}
	}()
	r.admission.plan.entries[i].taker.Release(r, r.admission.permits[i], result)
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
	p.giveBack(r, result, func(g store.Group) bool { return g == store.Enforced || a.shadow })
}

// settleShadow gives back what the shadow group was granted, when the virtual
// request ends before the real one.
func (p *Pipeline) settleShadow(r *Request) {
	a := &r.admission
	if !a.shadow {
		return
	}
	a.shadow = false
	p.giveBack(r, Result{Outcome: NotRun}, func(g store.Group) bool { return g == store.Shadow })
}

func (p *Pipeline) giveBack(r *Request, result Result, concerns func(store.Group) bool) {
	a := &r.admission
	returns := a.returns[:0]
	for i := range a.batch.Claims {
		c := &a.batch.Claims[i]
		back, due := dueBack(c, result)
		if !due || !concerns(c.Group) {
			continue
		}
		returns = append(returns, store.Return{
			ID: a.batch.ID, Owner: c.Owner, Limit: c.Limit, Handle: a.batch.Grants[i].Handle,
			At: a.batch.Now, Now: a.batch.Now, Tokens: back,
		})
	}
	a.returns = returns
	if len(returns) == 0 {
		return
	}
	now := result.At
	if now == 0 {
		now = p.Now()
	}
	if now > a.batch.Now {
		for i := range returns {
			returns[i].Now = now
		}
	}
	if a.local {
		p.store.ReturnLocal(context.Background(), returns)
		return
	}
	p.store.Return(context.Background(), returns)
}

// dueBack is what one claim has to give back, or be charged for, at the end.
func dueBack(c *store.Claim, result Result) (tokens int64, due bool) {
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
