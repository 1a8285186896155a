package pipeline

import (
	"context"
	"fmt"

	"github.com/plimsoll-go/plimsoll/store"
)

// Spare is a stage that can say how much room a request would find in it.
type Spare interface {
	Stage
	// Spare is the room that is left for the request, and how much there is of
	// it in all. It waits for nothing and changes nothing.
	Spare(r *Request) (left, of int64)
}

// Explanation is what would become of a request, entry by entry.
type Explanation struct {
	Decision Decision // the pipeline's
	Detail   Detail   // of the decision, when it refuses
	Entries  []Explained
}

// Explained is one entry's answer.
type Explained struct {
	Entry    Entry
	Asked    bool     // false: it is off, by its mode or its panics
	Decision Decision // by itself, as if it were enforced
	Detail   Detail   // of the decision
	Claims   []Peeked // what it asks the store for
	Left, Of int64    // room, of entries that are Spare; both 0 of others
	Err      error    // why it could not decide: its fault policy did
}

// Peeked is a claim and what the store would answer.
type Peeked struct {
	Claim store.Claim
	Grant store.Grant // the figures are those after the request
}

// Explain tells what each entry would answer to a request now. Nothing is
// taken, charged or counted, nobody waits, and no observer hears of it. Unlike
// Acquire it asks every entry, also those behind one that refuses, and each by
// itself. It asks the store once for each entry that shares state, so it is for
// people, not for every request. The request must not be in flight, and can be
// used afterwards.
func (p *Pipeline) Explain(ctx context.Context, r *Request) (x Explanation) {
	p.begin(r)
	r.Trial, r.NoWait = true, true
	defer func() { r.Trial, r.NoWait = false, false }()
	plan := r.admission.plan
	x.Entries = make([]Explained, plan.Len())
	for i := range x.Entries {
		p.explain(ctx, r, &plan.entries[i], &x.Entries[i])
		x.Entries[i].Decision.Entry = uint8(i)
	}
	x.decide()
	r.Detail = x.Detail
	return x
}

// decide picks the entry that decides, as the walk does: the first that
// refuses from memory, or else the one whose claim has to wait longest.
func (x *Explanation) decide() {
	late := -1
	for i := range x.Entries {
		e := &x.Entries[i]
		if e.Decision.Verdict == Admit || e.Entry.Mode != Enforce {
			continue
		}
		if len(e.Claims) == 0 {
			x.Decision, x.Detail = e.Decision, e.Detail
			return
		}
		if late < 0 || longer(e.Detail.RetryAfter, x.Entries[late].Detail.RetryAfter) {
			late = i
		}
	}
	if late >= 0 {
		x.Decision, x.Detail = x.Entries[late].Decision, x.Entries[late].Detail
	}
}

// explain asks one entry. A panic is told as the entry's fault.
func (p *Pipeline) explain(ctx context.Context, r *Request, e *entry, x *Explained) {
	x.Entry = e.Entry
	r.Detail = Detail{}
	defer func() {
		if value := recover(); value != nil {
			x.Err = fmt.Errorf("pipeline: %s panicked: %v", e.Name, value)
			x.fault(e)
		}
	}()
	switch {
	case e.refusesAll():
		x.Decision = Refuse(StoreUnavailable)
		return
	case e.off():
		return
	}
	x.Asked = true
	x.Decision = e.Stage.Look(r)
	x.Decision.Permit = 0
	x.Detail = r.Detail
	if s, ok := e.Stage.(Spare); ok {
		x.Left, x.Of = s.Spare(r)
	}
	if e.sharer != nil && x.Decision.Verdict == Admit {
		x.peek(ctx, p.store, r, e)
	}
}

// fault is the answer of an entry that cannot decide.
func (x *Explained) fault(e *entry) {
	x.Decision = Decision{}
	if e.OnFault == Closed {
		x.Decision = Refuse(StoreUnavailable)
	}
}

// peek asks the store, or what the entry's fault policy puts in its place.
func (x *Explained) peek(ctx context.Context, guard *store.Guard, r *Request, e *entry) {
	claims := e.sharer.Claims(r, nil)
	if len(claims) == 0 {
		return
	}
	b := store.Batch{ID: r.ID(), Now: r.Now, Peek: true, Claims: claims, Grants: make([]store.Grant, len(claims))}
	if x.Err = guard.Claim(ctx, &b); x.Err != nil {
		x.fault(e)
		if e.OnFault != Local || guard.ClaimLocal(ctx, &b) != nil {
			return
		}
	}
	for i := range b.Grants {
		c, g := &b.Claims[i], &b.Grants[i]
		x.Claims = append(x.Claims, Peeked{*c, *g})
		switch {
		case g.OK && x.Decision.Verdict == Admit:
			x.Detail.least(c, g)
		case !g.OK && (x.Decision.Verdict == Admit || longer(g.RetryAfter, x.Detail.RetryAfter)):
			x.Decision = Refuse(reasonOf(c, g))
			x.Detail.refused(c, g)
		}
	}
}
