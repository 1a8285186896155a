package store

import (
	"context"
	"errors"
	"time"
)

// sweepEvery is how often blocks that are too old, and keys that went cold, are
// looked for.
const sweepEvery = 50 * time.Millisecond

// loansAtOnce is how many loans one call asks for.
const loansAtOnce = 64

// lending asks for the loans that are due, and returns what was not needed,
// until the context ends. While no key is leased it sleeps.
func (l *leases) lending(ctx context.Context) {
	timer := time.NewTimer(sweepEvery)
	defer timer.Stop()
	for {
		var sweep <-chan time.Time
		if l.some.Load() > 0 {
			sweep = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-l.signal:
		case <-sweep:
			l.sweep()
			timer.Reset(sweepEvery)
		}
		for l.lend(ctx) {
		}
	}
}

// due takes the next keys that wait for a loan.
func (l *leases) due() (keys []*hotKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), loansAtOnce)
	keys = append(keys, l.waiting[:n]...)
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
	return keys
}

// lend asks for loans in one call, and reports whether any were due.
func (l *leases) lend(ctx context.Context) bool {
	keys := l.due()
	if len(keys) == 0 || ctx.Err() != nil {
		return false
	}
	loans, asked := make([]Loan, 0, len(keys)), make([]pending, 0, len(keys))
	for _, k := range keys {
		if loan, epoch, ok := k.ask(&l.config, l.parts(), l.now(k)); ok {
			loans, asked = append(loans, loan), append(asked, pending{k, epoch, l.serial.Add(1), l.memory})
		}
	}
	if len(loans) == 0 {
		return true
	}
	if !l.remote.breaker.admits(l.remote.clock()) {
		l.arrive(loans, asked, ErrUnavailable)
		return true
	}
	err := l.loans.run(ctx, returnWait, func(ctx context.Context) (err error) {
		err = errNotLent
		defer func() { l.arrive(loans, asked, err) }() // also when it panics, or answers late
		err = l.lender.Lend(ctx, loans)
		l.remote.note(err)
		return err
	})
	if errors.Is(err, errBusy) { // it was not made
		l.arrive(loans, asked, err)
	}
	return true
}

var errNotLent = errors.New("store: lend: the driver panicked")

// arrive takes the answers to loans.
func (l *leases) arrive(loans []Loan, asked []pending, err error) {
	l.calls.Add(1)
	var back []Return
	for i := range asked {
		a := &asked[i]
		now := l.now(a.key)
		if err != nil || loans[i].Err != nil {
			a.key.failed(now)
			continue
		}
		l.keys.Get(a.key.id) // it is in use
		back = a.lent(&loans[i], now, l.config.Lease, back)
		if loans[i].Lent > 0 {
			l.denials.move(&Return{Owner: a.key.id.owner, Limit: a.key.limit, Reset: true}) // there is something again
		}
		l.fold(a.key)
	}
	l.put(back)
}

// sweep returns what is too old, and ends the keys that are not hot any more.
func (l *leases) sweep() {
	var back []Return
	for _, k := range l.keys.Values() {
		var cold bool
		if back, cold = k.sweep(&l.config, l.now(k), back); cold {
			l.drop(k)
		}
	}
	l.put(back)
}

// close ends all leases, and waits for loans that are under way; what is to be
// returned is in the queue.
func (l *leases) close(patience <-chan struct{}) {
	l.keys.Purge()
	l.loans.settle(patience)
}

// put returns tokens through the queue.
func (l *leases) put(back []Return) {
	if len(back) > 0 {
		l.remote.dropped.Add(uint64(l.remote.queue.put(back, l.remote.clock())))
	}
}

// settle takes what concerns leases out of a return, and reports whether
// nothing is left of it for the store.
func (l *leases) settle(r *Return) (settled bool) {
	if r.Limit.Kind != Tokens {
		return false
	}
	k := l.find(r.Owner, r.Limit.ID)
	fromLease := r.Handle&leased != 0 && !r.AnyGrant
	if fromLease && r.Tokens <= 0 {
		r.Handle = 0 // it means nothing to the store
	}
	switch {
	case r.Reset:
		if k != nil {
			k.forget()
		}
	case r.Tokens < 0:
		return k != nil && k.charge(-r.Tokens, r.Limit, r.Now, l.config.Lease)
	case fromLease:
		l.refund(r.Handle, r.Tokens, r.Now)
		return true
	default: // the store's
	}
	return false
}

// refund gives tokens back to the block that they were spent of, or to the
// store if it is too old.
func (l *leases) refund(handle uint64, tokens, now int64) {
	b := l.memory.find(handle)
	if b == nil {
		l.late.Add(1)
		return
	}
	if ret, due := b.giveBack(tokens, now, l.config.Lease); due {
		l.put([]Return{ret})
	}
	l.fold(b.key)
}
