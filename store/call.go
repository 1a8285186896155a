package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// call is a claim on its way to a driver. It has its own copy of the batch:
// when the driver answers, the asker may be gone and its request in use again.
type call struct {
	batch Batch
	begun int64
	fate  atomic.Uint32
	err   error
	done  chan struct{}
	timer *time.Timer
}

// The fates of a call.
const (
	asked    uint32 = iota
	answered        // the asker has the answer
	tooLate         // the asker waited for its budget, and went on without
	left            // the asker's client left
)

// crew are the goroutines that carry calls to a driver, so that nobody who asks
// depends on the driver to come back in time. They come when they are needed,
// as many as there are calls under way. While the crew is kept together they go
// after a second without work, else as soon as there is none.
type crew struct {
	driver Driver
	clock  func() int64
	ended  func(*call) // told of a call whose asker is gone, when the driver answers

	under atomic.Int32   // calls under way, those without an asker included
	idle  atomic.Int32   // goroutines that wait for work and are not promised any
	work  chan *call     // never full: at most one call for each goroutine
	begun []atomic.Int64 // for each place of a goroutine, when its call began; 0 without, -1 without a goroutine
	free  chan *call     // for the next to be sent

	members   atomic.Int32
	dismissed atomic.Pointer[chan struct{}] // closed unless the crew is kept together
	gone      chan struct{}                 // signalled when one of them goes
}

const (
	vacant  = -1
	waiting = 0
)

// errNotMade is how a call ends whose asker left before it was made.
var errNotMade = errors.New("store: claim: not made")

// idleFor is how long a goroutine waits for work.
const idleFor = time.Second

func newCrew(d Driver, size int, clock func() int64, ended func(*call)) *crew {
	w := &crew{
		driver: d, clock: clock, ended: ended, gone: make(chan struct{}, 1),
		work: make(chan *call, size), free: make(chan *call, size), begun: make([]atomic.Int64, size),
	}
	w.keep()
	w.dismiss()
	for i := range w.begun {
		w.begun[i].Store(vacant)
	}
	return w
}

// keep keeps the crew together until it is dismissed.
func (w *crew) keep() {
	dismissed := make(chan struct{})
	w.dismissed.Store(&dismissed)
}

func (w *crew) dismiss() { close(*w.dismissed.Load()) }

// settle waits until all members have gone, or for the end of patience.
func (w *crew) settle(patience <-chan struct{}) {
	for w.members.Load() > 0 {
		select {
		case <-w.gone:
		case <-patience:
			return
		}
	}
}

// send begins a call on a copy of a batch, or returns nil when too many are
// under way.
func (w *crew) send(b *Batch) *call {
	if int(w.under.Add(1)) > len(w.begun) {
		w.under.Add(-1)
		return nil
	}
	c := w.take()
	c.copy(b)
	c.begun = w.clock()
	c.timer.Reset(b.Budget)
	if w.reserve() {
		w.work <- c
		return c
	}
	w.members.Add(1)
	go w.serve(w.place(), c)
	return c
}

// take finds a call to be sent. The free ones are as many as can be under way,
// so that after a while none is made.
func (w *crew) take() *call {
	select {
	case c := <-w.free:
		return c
	default:
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		return &call{done: make(chan struct{}, 1), timer: timer}
	}
}

func (w *crew) put(c *call) {
	select {
	case w.free <- c:
	default:
	}
}

// copy takes a batch over; the slices are the call's own.
func (c *call) copy(b *Batch) {
	claims, grants := append(c.batch.Claims[:0], b.Claims...), c.batch.Grants[:0]
	for range b.Claims {
		grants = append(grants, Grant{})
	}
	c.batch = *b
	c.batch.Claims, c.batch.Grants = claims, grants
	c.batch.Waits = true // a goroutine of the crew does
	c.err = nil
	c.fate.Store(asked)
}

// reserve takes one of the idle goroutines, which then waits for its work.
func (w *crew) reserve() bool {
	for {
		n := w.idle.Load()
		if n <= 0 {
			return false
		}
		if w.idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// place finds a place for a goroutine more. There is one, because goroutines
// that are not idle have a call each, and calls are as many as places at most.
func (w *crew) place() int {
	for {
		for i := range w.begun {
			if w.begun[i].CompareAndSwap(vacant, waiting) {
				return i
			}
		}
		runtime.Gosched() // one is just leaving
	}
}

// serve carries calls until there are none.
func (w *crew) serve(i int, c *call) {
	timer := time.NewTimer(idleFor)
	defer timer.Stop()
	for c != nil {
		w.carry(i, c)
		timer.Reset(idleFor)
		c = w.next(timer.C)
	}
	w.begun[i].Store(vacant)
	w.members.Add(-1)
	select {
	case w.gone <- struct{}{}:
	default:
	}
}

// next waits for work, and returns nil when there is to be none.
func (w *crew) next(idled <-chan time.Time) *call {
	select {
	case c := <-w.work:
		return c
	case <-idled:
	case <-*w.dismissed.Load():
	}
	if w.reserve() { // itself
		return nil
	}
	return <-w.work // somebody was faster, and is about to send
}

// carry makes one call and delivers its answer, or what became of it.
func (w *crew) carry(i int, c *call) {
	if c.fate.Load() == asked {
		w.begun[i].Store(max(c.begun, 1))
		c.err = w.ask(&c.batch)
		w.begun[i].Store(waiting)
	} else {
		c.err = errNotMade
	}
	w.idle.Add(1)
	w.under.Add(-1)
	if c.fate.CompareAndSwap(asked, answered) {
		c.done <- struct{}{}
		return
	}
	w.ended(c)
	w.put(c)
}

func (w *crew) ask(b *Batch) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("store: claim: the driver panicked: %v", value)
		}
	}()
	return w.driver.Claim(context.Background(), b)
}

// wait returns how the call ended for its asker.
func (w *crew) wait(ctx context.Context, c *call) (fate uint32) {
	select {
	case <-c.done:
		return answered
	case <-c.timer.C:
		fate = tooLate
	case <-ctx.Done():
		fate = left
	}
	if c.fate.CompareAndSwap(asked, fate) {
		return fate
	}
	<-c.done // it came just now
	return answered
}

// finish gives the answer to the asker, and the call back.
func (w *crew) finish(c *call, b *Batch) error {
	c.timer.Stop()
	err := c.err
	if err == nil {
		copy(b.Grants, c.batch.Grants)
	}
	w.put(c)
	return err
}

// oldest is when the oldest call that the driver has not answered began, or 0.
func (w *crew) oldest() (begun int64) {
	for i := range w.begun {
		if at := w.begun[i].Load(); at > 0 && (begun == 0 || at < begun) {
			begun = at
		}
	}
	return begun
}
