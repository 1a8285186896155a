package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// remote is what a guard needs around a driver whose calls take time: nobody
// waits longer than the budget, a store that is down is not asked, and what is
// given back waits in a queue.
type remote struct {
	driver  Driver
	budget  time.Duration
	base    time.Time
	crew    *crew
	breaker *breaker
	queue   *queue
	alarm   chan struct{} // signalled when there is doubt about the store
	running atomic.Bool   // without Run nothing would close the breaker, so nothing opens it

	probes, syncs, renewals, returns lane
	draining                         sync.Mutex // held by who empties the queue

	leases *leases // nil if the driver lends nothing

	failed, late, skipped, crowded, reclaimed, dropped, lost atomic.Uint64
}

// Stats counts what a guard did, since it was made.
type Stats struct {
	State     State
	UnderWay  int    // calls that the driver has not answered
	Queued    int    // returns that wait for the store
	Failed    uint64 // calls that the driver answered with an error
	Late      uint64 // calls that were not answered within the budget
	Skipped   uint64 // calls that were not made because the store was down
	Crowded   uint64 // calls that were not made because too many were under way
	Reclaimed uint64 // grants that came after their asker had left, and were given back
	Dropped   uint64 // returns that found the queue full
	Lost      uint64 // returns that were sent, and may not have arrived
}

func newRemote(d Driver, c *GuardConfig) *remote {
	r := &remote{
		driver: d, budget: c.Budget, base: time.Now(), breaker: newBreaker(c.Random), queue: newQueue(c.Queue), alarm: make(chan struct{}, 1),
		probes: make(lane, 4), syncs: make(lane, 2), renewals: make(lane, 2), returns: make(lane, 2),
	}
	r.crew = newCrew(d, c.MaxInFlight, r.clock, r.ended)
	return r
}

// clock is nanoseconds since the guard was made.
func (r *remote) clock() int64 { return int64(time.Since(r.base)) }

// claim decides a batch from memory, as far as it can, or asks the driver.
func (r *remote) claim(ctx context.Context, b *Batch) error {
	if r.leases != nil && r.running.Load() {
		return r.leases.claim(ctx, b)
	}
	return r.ask(ctx, b)
}

// ask asks the driver, within the budget.
func (r *remote) ask(ctx context.Context, b *Batch) error {
	if r.running.Load() && !r.breaker.admits(r.clock()) {
		r.skipped.Add(1)
		return ErrUnavailable
	}
	c := r.crew.send(b)
	if c == nil {
		r.crowded.Add(1)
		return errCrowded
	}
	begun := c.begun // the call may be another's once it is abandoned
	switch r.crew.wait(ctx, c) {
	case left:
		return ctx.Err()
	case tooLate:
		r.tooLate(begun)
		return errLate
	}
	err := r.crew.finish(c, b)
	if r.note(err) {
		r.failed.Add(1)
	}
	r.doubt(b, err)
	return err
}

var (
	errLate    = fmt.Errorf("%w: no answer within the budget", ErrUnavailable)
	errCrowded = fmt.Errorf("%w: too many calls are under way", ErrUnavailable)
)

// tooLate takes note of a call that was not answered in time. When this process
// itself was held up, for a collection or by others on the machine, the store
// is not to blame.
func (r *remote) tooLate(begun int64) {
	r.late.Add(1)
	if r.clock()-begun > int64(2*r.budget+5*time.Millisecond) {
		return
	}
	r.note(errLate)
	if r.running.Load() {
		r.checkOldest()
	}
}

// note takes note of how a call ended, and reports whether it failed.
func (r *remote) note(err error) (failed bool) {
	if !r.running.Load() {
		return err != nil && !errors.Is(err, ErrKey)
	}
	failed = r.breaker.called(r.clock(), err)
	if failed {
		r.suspect()
	}
	return failed
}

// suspect has the store probed.
func (r *remote) suspect() {
	select {
	case r.alarm <- struct{}{}:
	default:
	}
}

// ended takes what the driver granted after the asker had gone.
func (r *remote) ended(c *call) {
	if c.err == errNotMade { //nolint:errorlint // this very error, not one like it
		return
	}
	if c.fate.Load() == left {
		r.note(c.err)
	}
	r.doubt(&c.batch, c.err)
	if c.err != nil || c.batch.Peek {
		return
	}
	var back []Return
	b, now := &c.batch, c.batch.Now+r.clock()-c.begun
	for i := range b.Grants {
		if b.granted(i) {
			back = append(back, Return{ID: b.ID, Owner: b.Claims[i].Owner, Limit: b.Claims[i].Limit,
				Handle: b.Grants[i].Handle, At: b.Now, Now: now, Tokens: b.Claims[i].Cost})
		}
	}
	r.reclaimed.Add(uint64(len(back)))
	r.giveBack(back)
}

// granted reports whether a claim was granted: its whole group was, and for a
// shadow claim the enforced ones too.
func (b *Batch) granted(i int) bool {
	for j := range b.Grants {
		if !b.Grants[j].OK && (b.Claims[j].Group == Enforced || b.Claims[j].Group == b.Claims[i].Group) {
			return false
		}
	}
	return true
}

// giveBack puts returns into the queue, which Run empties; without Run, the
// caller does, for as long as a decision may take.
func (r *remote) giveBack(returns []Return) {
	if len(returns) == 0 {
		return
	}
	now := r.clock()
	if r.leases == nil {
		r.dropped.Add(uint64(r.queue.put(returns, now)))
	} else {
		for i := range returns {
			one := [1]Return{returns[i]}
			if !r.leases.settle(&one[0]) {
				r.dropped.Add(uint64(r.queue.put(one[:], now)))
			}
		}
	}
	if !r.running.Load() {
		r.drain(r.budget)
	}
}

// How returns are sent.
const (
	returnsAtOnce = 256
	returnWait    = 250 * time.Millisecond
	returnRetry   = 100 * time.Millisecond
)

// returning empties the queue until the context ends, and once more then.
func (r *remote) returning(ctx context.Context) {
	timer := time.NewTimer(returnRetry)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.drain(returnWait)
			return
		case <-timer.C:
		case <-r.queue.filled:
		}
		if r.breaker.state.Load() == uint32(Down) || !r.drain(returnWait) {
			timer.Reset(returnRetry)
		}
	}
}

// drain sends what is in the queue, and reports whether all was sent. One
// goroutine does so at a time, and none leaves what another has put in since.
func (r *remote) drain(wait time.Duration) (emptied bool) {
	for r.queue.len() > 0 {
		if !r.draining.TryLock() {
			return true // it is being done
		}
		emptied = r.sendAll(wait)
		r.draining.Unlock()
		if !emptied {
			return false
		}
	}
	return true
}

// sendAll sends batch by batch. A batch that may have arrived is not sent
// again, but for its slots, which know who holds them: tokens given back twice
// would be tokens for nothing.
func (r *remote) sendAll(wait time.Duration) bool {
	for {
		batch := r.queue.take(returnsAtOnce)
		if len(batch) == 0 {
			return true
		}
		returns, now := make([]Return, len(batch)), r.clock()
		for i := range batch {
			returns[i] = batch[i].Return
			returns[i].Now = plus(returns[i].Now, now-batch[i].since) // tokens refilled meanwhile
		}
		err := r.returns.run(context.Background(), wait, func(ctx context.Context) error {
			return r.driver.Return(ctx, returns)
		})
		if err != nil && !errors.Is(err, ErrKey) {
			r.keep(batch, err)
			return false
		}
	}
}

// keep puts back of a batch that failed what may be sent again.
func (r *remote) keep(batch []queued, err error) {
	again, now := batch[:0], r.clock()
	for _, q := range batch {
		slot := q.Limit.Kind == Slots
		switch {
		case slot && now-q.since > int64(q.Limit.Lease): // it came back by itself
		case slot, errors.Is(err, errBusy):
			again = append(again, q)
		default:
			r.lost.Add(1)
		}
	}
	r.dropped.Add(uint64(r.queue.putBack(again)))
}

// run does the background work until the context ends.
func (r *remote) run(ctx context.Context, onState func(State, error)) {
	r.crew.keep()
	r.running.Store(true)
	var group sync.WaitGroup
	group.Go(func() { r.probing(ctx) })
	group.Go(func() { r.returning(ctx) })
	group.Go(func() { r.reporting(ctx, onState) })
	if r.leases != nil {
		group.Go(func() { r.leases.lending(ctx) })
	}
	<-ctx.Done()
	r.running.Store(false)
	r.crew.dismiss()
	group.Wait()
	r.settle(returnWait)
	r.breaker.update(func(h *health) { *h = health{} })
}

// settle waits for the calls that are under way, for so long: a driver may keep
// some for ever.
func (r *remote) settle(wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	r.crew.settle(ctx.Done())
	if r.leases != nil {
		r.leases.close(ctx.Done())
		r.drain(returnWait)
	}
	for _, l := range []lane{r.probes, r.syncs, r.renewals, r.returns} {
		l.settle(ctx.Done())
	}
}

// reporting tells of changes of the state, in their order.
func (r *remote) reporting(ctx context.Context, onState func(State, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-r.breaker.changes:
			if onState != nil {
				onState(c.state, c.cause)
			}
		}
	}
}

func (r *remote) stats() Stats {
	return Stats{
		State: State(r.breaker.state.Load()), UnderWay: int(r.crew.under.Load()), Queued: r.queue.len(),
		Failed: r.failed.Load(), Late: r.late.Load(), Skipped: r.skipped.Load(), Crowded: r.crowded.Load(),
		Reclaimed: r.reclaimed.Load(), Dropped: r.dropped.Load(), Lost: r.lost.Load(),
	}
}
