package sim

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// link is a worker's way to the store: a driver whose calls take time and get
// lost. It waits for an answer as long as a real driver does for a socket;
// patience of another kind is the guard's.
type link struct {
	worker *worker
	shared *shared
	cut    atomic.Bool // this worker alone does not reach the store
	seed   uint64
}

var _ store.Driver = (*link)(nil)

// patience is how long the driver waits for an answer.
const patience = time.Second

// Claim asks the store. A claim whose answer is lost may have been made.
func (l *link) Claim(_ context.Context, b *store.Batch) error {
	own := *b
	own.Claims, own.Grants = slices.Clone(b.Claims), slices.Clone(b.Grants)
	var gone atomic.Bool
	err := l.exchange(claiming, func() error {
		err := l.shared.claim(l.worker, &own)
		if gone.Load() {
			l.shared.checks.unheard(own.ID)
		}
		return err
	})
	if err != nil {
		gone.Store(true)
		l.shared.checks.unheard(own.ID)
		return err
	}
	copy(b.Grants, own.Grants)
	return nil
}

// Return gives back.
func (l *link) Return(_ context.Context, returns []store.Return) error {
	own := slices.Clone(returns)
	return l.exchange(returning, func() error { return l.shared.giveBack(l.worker, own) })
}

// Renew prolongs.
func (l *link) Renew(_ context.Context, held []store.Return) error {
	own := slices.Clone(held)
	return l.exchange(renewing, func() error { return l.shared.renew(l.worker, own) })
}

// Sync exchanges a heartbeat, in two trips or, where workers meet, some more.
func (l *link) Sync(ctx context.Context, r store.Report) (store.View, error) {
	for ctx.Err() == nil {
		answer := new(swapped)
		err := l.exchange(reading, func() error {
			answer.version, answer.now = l.shared.readLedger()
			return nil
		})
		if err != nil {
			return store.View{}, err
		}
		version := answer.version
		r.Now = answer.now
		answer = new(swapped) // the server may write to the old one after all hope is lost
		err = l.exchange(swapping, func() (err error) {
			answer.view, answer.done, err = l.shared.swapLedger(l.worker, version, r)
			return err
		})
		switch {
		case err != nil:
			return store.View{}, err
		case answer.done:
			l.worker.heardOf(&answer.view)
			return answer.view, nil
		}
	}
	return store.View{}, ctx.Err()
}

// swapped is what the two trips of a heartbeat bring back.
type swapped struct {
	version uint64
	now     int64
	view    store.View
	done    bool
}

// exchange carries a call to the store and its answer back.
func (l *link) exchange(kind uint64, call func() error) error {
	dice := l.dice(kind)
	if !l.worker.awake(&dice) {
		return errDead
	}
	n, _, resets := l.shared.look()
	if n.refusing {
		return errRefused
	}
	time.Sleep(dice.around(n.trip / 2))
	if n.lost || l.cut.Load() || dice.hit(n.loss) {
		return l.silence()
	}
	if err := l.resumed(call, &dice); err != nil {
		return err
	}
	err := call()
	n, _, now := l.shared.look()
	time.Sleep(dice.around(n.trip / 2))
	switch {
	case !l.worker.awake(&dice):
		return errDead
	case now != resets:
		return errReset
	case n.lost || l.cut.Load() || dice.hit(n.loss):
		return l.silence()
	}
	return err
}

// resumed waits while the store is paused. What has reached it by then is done
// when it is resumed, whether anybody waits for the answer or not.
func (l *link) resumed(call func() error, dice *chance) error {
	for {
		_, paused, _ := l.shared.look()
		if paused == nil {
			return nil
		}
		timer := time.NewTimer(patience)
		select {
		case <-paused:
			timer.Stop()
			dice.apart()
		case <-timer.C:
			later := *dice
			l.worker.world.background.Go(func() {
				if l.resumedLate(paused, &later) {
					_ = call()
				}
			})
			return errLost
		}
	}
}

// resumedLate waits for the end of a pause, or of the scenario.
func (l *link) resumedLate(paused <-chan struct{}, dice *chance) bool {
	select {
	case <-paused:
		dice.apart()
		return true
	case <-l.worker.world.over:
		return false
	}
}

func (l *link) silence() error {
	time.Sleep(patience)
	return errLost
}

// Calls of a worker, by kind.
const (
	claiming uint64 = iota
	returning
	renewing
	reading
	swapping
	lending
)

// dice are those of a call, by its kind and moment.
func (l *link) dice(kind uint64) chance {
	return newChance(l.seed, kind, uint64(time.Now().UnixNano()))
}
