package pipeline

import (
	"context"

	"github.com/plimsoll-go/plimsoll/store"
)

// Streamer is a Sharer whose slots come from another limit once a request
// turns out to be long-lived.
type Streamer interface {
	Sharer
	// StreamClaims appends what replaces the claims of a request.
	StreamClaims(r *Request, claims []store.Claim) []store.Claim
}

// Detach moves a held request to the long-lived gauges: a stream, a WebSocket,
// a hijacked connection. It acts once. When it is refused the request is held
// as before, and the caller is to end it; Release follows in any case.
func (p *Pipeline) Detach(ctx context.Context, r *Request) Decision {
	a := &r.admission
	if a.state.Load()&^shown != held || a.detached {
		return Decision{}
	}
	if d := p.detachSlots(ctx, r); d.Verdict != Admit {
		return d
	}
	for i := range a.plan.entries {
		e := &a.plan.entries[i]
		if e.detacher == nil || e.off() {
			continue
		}
		d := p.detachOne(r, i)
		if d.Verdict != Admit && e.Mode == Enforce {
			return d
		}
	}
	if state, inFlight := a.show(); inFlight { // Holders reads it
		a.detached = true
		a.state.Store(state)
	}
	return Decision{}
}

// Detached reports whether the request was moved to the long-lived gauges.
func (r *Request) Detached() bool { return r.admission.detached }

func (p *Pipeline) detachOne(r *Request, i int) (d Decision) {
	a := &r.admission
	defer func() {
		if value := recover(); value != nil {
			p.panicked(r, i, value)
			d = Decision{}
		}
	}()
	permit := Permit(0)
	if a.held&(1<<i) != 0 {
		permit = a.permits[i]
	}
	d = a.plan.entries[i].detacher.Detach(r, permit)
	d.Entry = uint8(i)
	if d.Verdict == Admit && a.held&(1<<i) != 0 {
		a.permits[i] = d.Permit
	}
	return d
}

// detachSlots changes the slots of Streamers for slots of their stream limits:
// first the new ones are claimed, then the old ones go back.
func (p *Pipeline) detachSlots(ctx context.Context, r *Request) Decision {
	a := &r.admission
	if !a.granted || a.local {
		return Decision{}
	}
	b := store.Batch{ID: a.batch.ID, Now: p.Now()}
	replaced := uint32(0)
	for i := range a.plan.entries {
		e := &a.plan.entries[i]
		s, ok := e.Stage.(Streamer)
		if !ok || e.Mode != Enforce || e.off() {
			continue
		}
		from := len(b.Claims)
		b.Claims = s.StreamClaims(r, b.Claims)
		for j := from; j < len(b.Claims); j++ {
			b.Claims[j].Tag = uint8(i)
		}
		replaced |= 1 << i
	}
	if len(b.Claims) == 0 {
		return Decision{}
	}
	b.Grants = make([]store.Grant, len(b.Claims))
	if err := p.store.Claim(ctx, &b); err != nil {
		return Decision{} // not decided: the slot that is held goes on counting
	}
	for i := range b.Grants {
		if !b.Grants[i].OK {
			r.Detail.refused(&b.Claims[i], &b.Grants[i])
			d := Refuse(TooManyInFlight)
			d.Entry = b.Claims[i].Tag
			return d
		}
	}
	p.store.Return(ctx, p.replaceClaims(r, &b, replaced))
	return Decision{}
}

// replaceClaims puts new grants in the place of the slots of some entries, and
// returns those slots' returns. It keeps the renewal out, which may be reading.
func (p *Pipeline) replaceClaims(r *Request, b *store.Batch, entries uint32) (old []store.Return) {
	a := &r.admission
	state, _ := a.show()
	defer a.state.Store(state)
	n := 0
	for i, c := range a.batch.Claims {
		if c.Limit.Kind == store.Slots && entries&(1<<c.Tag) != 0 {
			old = append(old, store.Return{
				ID: a.batch.ID, Owner: c.Owner, Limit: c.Limit, Handle: a.batch.Grants[i].Handle, At: a.batch.Now, Now: b.Now,
			})
			continue
		}
		a.batch.Claims[n], a.batch.Grants[n] = c, a.batch.Grants[i]
		n++
	}
	a.batch.Claims = append(a.batch.Claims[:n], b.Claims...)
	a.batch.Grants = append(a.batch.Grants[:n], b.Grants...)
	return old
}
