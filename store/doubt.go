package store

import "errors"

// doubt gives back the slots of a call that failed or came too late: it may
// have reached the store, and be decided there when nobody waits any more. A
// slot knows who holds it, so giving back one that was never granted changes
// nothing, and is tried until the store is there or the lease is over. Tokens
// are not given back: if they were never taken, that would mint them.
func (r *remote) doubt(b *Batch, err error) {
	if err == nil || b.Peek || errors.Is(err, ErrKey) || !r.running.Load() {
		return
	}
	var back []Return
	for i := range b.Claims {
		if c := &b.Claims[i]; c.Limit.Kind == Slots {
			back = append(back, Return{ID: b.ID, Owner: c.Owner, Limit: c.Limit, At: b.Now, Now: b.Now})
		}
	}
	r.giveBack(back)
}
