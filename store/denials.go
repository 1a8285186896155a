package store

import (
	"sync/atomic"
	"time"
)

// denials remembers refusals, so that the next request of the same owner can
// be refused from memory. It is a fixed table that forgets by overwriting:
// a forgotten refusal costs one store call, never a wrong answer.
//
// A refusal is remembered as the cost that was refused and the moment from
// which it could pass. A larger cost can pass no earlier, so it is answered
// too; a smaller one is not known, and asks the store.
type denials struct {
	slots [denialSlots]denial
}

const denialSlots = 1 << 12

// fullFor is how long a full limit on slots is remembered, if no slot of the
// owner is given back here before.
const fullFor = 10 * time.Millisecond

// denial is one slot of the table. version is odd while the slot is written;
// a reader that sees it odd or changed knows nothing.
type denial struct {
	version atomic.Uint64
	owner   atomic.Uint64 // mixed from the owner and the limit
	print   atomic.Uint64 // of the limit; a changed limit forgets
	until   atomic.Int64
	cost    atomic.Int64
	reset   atomic.Int64
}

func (d *denials) at(owner Key, l *Limit) (*denial, uint64) {
	h := owner.Lo ^ l.ID
	return &d.slots[(h*0x9e3779b97f4a7c15)>>(64-12)], owner.Hi ^ h
}

// find answers from a remembered refusal of at most this cost.
func (d *denials) find(owner Key, l *Limit, cost, now int64) (Grant, bool) {
	e, mark := d.at(owner, l)
	if e.until.Load() <= now || e.owner.Load() != mark {
		return Grant{}, false
	}
	version := e.version.Load()
	until, known, reset := e.until.Load(), e.cost.Load(), e.reset.Load()
	same := e.owner.Load() == mark && e.print.Load() == l.Fingerprint
	if version&1 != 0 || e.version.Load() != version || !same || cost < known || until <= now {
		return Grant{}, false
	}
	g := Grant{ResetAfter: time.Duration(max(reset-now, 0))}
	if l.Kind == Tokens {
		g.RetryAfter = time.Duration(until - now)
		if l.Algorithm == TokenBucket {
			g.RetryAfter += time.Duration(cost-known) * l.GCRA.Interval()
		}
	}
	return g, true
}

// remember keeps a refusal; Never is not kept, the look needs no memory for it.
func (d *denials) remember(c *Claim, g *Grant, now int64) {
	wait := g.RetryAfter
	if c.Limit.Kind == Slots {
		wait = fullFor
	}
	if wait <= 0 {
		return
	}
	e, mark := d.at(c.Owner, c.Limit)
	d.write(e, func() {
		e.owner.Store(mark)
		e.print.Store(c.Limit.Fingerprint)
		e.cost.Store(c.Cost)
		e.until.Store(now + int64(wait))
		e.reset.Store(now + int64(g.ResetAfter))
	})
}

// move brings a remembered refusal forward by tokens that were given back; a
// slot given back, and a limit whose wait does not shrink with tokens, forget.
func (d *denials) move(r *Return) {
	e, mark := d.at(r.Owner, r.Limit)
	if e.owner.Load() != mark {
		return
	}
	d.write(e, func() {
		if e.owner.Load() != mark {
			return
		}
		if r.Limit.Kind == Tokens && r.Limit.Algorithm == TokenBucket {
			shift := r.Tokens * int64(r.Limit.GCRA.Interval())
			e.until.Add(-shift)
			e.reset.Add(-shift)
			return
		}
		if r.Limit.Kind == Slots || r.Tokens > 0 {
			e.until.Store(0)
		}
	})
}

// write changes a slot unless somebody else is doing so: then this memory is
// lost, which costs no more than a store call.
func (d *denials) write(e *denial, change func()) {
	version := e.version.Load()
	if version&1 != 0 || !e.version.CompareAndSwap(version, version+1) {
		return
	}
	change()
	e.version.Store(version + 2)
}
