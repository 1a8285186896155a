package redisstore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// group gathers the claims that arrive while others are under way, and lets
// them leave together. The goroutines that send come when there is work, at
// most one for each connection, and go after a second without: one that is new
// grows its stack, for each call anew, and that is as much work as the call.
type group struct {
	send    func([]*call)
	senders int // at most
	bound   int // of waiting

	mu      sync.Mutex
	waiting []*call
	sending int           // senders that there are
	idle    int           // those that wait for work and are not promised any
	alone   bool          // an asker sends its own call
	wake    chan struct{} // never full: at most one promise for each sender
}

// call is one batch on its way. It has a copy of it: when the answer comes, the
// asker may be gone and its request in use again.
type call struct {
	batch store.Batch
	job   job
	begun time.Time
	fate  atomic.Uint32
	err   error
	done  chan struct{}
}

// The fates of a call.
const (
	asked uint32 = iota
	answered
	left // the asker is gone
)

// atOnce bounds how many claims leave together, so that one pipeline keeps
// the server from nobody for long.
const atOnce = 128

func newGroup(senders, bound int, send func([]*call)) *group {
	return &group{send: send, senders: senders, bound: bound, wake: make(chan struct{}, senders)}
}

// ask sends a batch and waits for its grants. An asker who may wait longer than
// the budget sends by itself when no call is under way: to hand the call to a
// sender and the answer back costs a lone asker as much as the call.
func (g *group) ask(ctx context.Context, b *store.Batch, j job) error {
	if b.Waits && g.begin() {
		defer g.end()
		c := &call{batch: *b, job: j, begun: time.Now(), done: make(chan struct{})}
		g.send([]*call{c})
		return c.err
	}
	c := &call{batch: *b, job: j, begun: time.Now(), done: make(chan struct{})}
	c.batch.Claims, c.batch.Grants = slices.Clone(b.Claims), make([]store.Grant, len(b.Grants))
	if !g.enter(c) {
		return errFull
	}
	if err := c.wait(ctx, b.Budget); err != nil {
		return err
	}
	if c.err == nil {
		copy(b.Grants, c.batch.Grants)
	}
	return c.err
}

// enter puts a call into the queue, and sees to it that somebody sends it.
func (g *group) enter(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) >= g.bound {
		g.waiting = slices.DeleteFunc(g.waiting, (*call).gone)
	}
	if len(g.waiting) >= g.bound {
		return false
	}
	g.waiting = append(g.waiting, c)
	g.rouse()
	return true
}

// rouse has a sender come for what waits, unless as many calls are under way as
// may be: then one of them is followed by it.
func (g *group) rouse() {
	switch {
	case g.busy() >= g.senders:
	case g.idle > 0:
		g.idle--
		g.wake <- struct{}{}
	default:
		g.sending++
		go g.work()
	}
}

// busy is how many calls are under way, or about to be.
func (g *group) busy() int {
	if g.alone {
		return g.sending - g.idle + 1
	}
	return g.sending - g.idle
}

// begin lets an asker send by itself, if no call is under way.
func (g *group) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy() > 0 || len(g.waiting) > 0 {
		return false
	}
	g.alone = true
	return true
}

// end makes way for those who came meanwhile.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone = false
	if len(g.waiting) > 0 {
		g.rouse()
	}
}

// idleFor is how long a sender waits for work.
const idleFor = time.Second

// work sends what waits, until nothing has for a while.
func (g *group) work() {
	timer := time.NewTimer(idleFor)
	defer timer.Stop()
	for {
		if calls := g.next(); calls != nil {
			g.send(calls)
			continue
		}
		timer.Reset(idleFor)
		select {
		case <-g.wake:
		case <-timer.C:
			if g.leave() {
				return
			}
			<-g.wake // somebody was faster, and has promised work
		}
	}
}

// leave lets an idle sender go, unless it is promised work.
func (g *group) leave() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle == 0 {
		return false
	}
	g.idle--
	g.sending--
	return true
}

// next takes what leaves together; without, the sender is idle. Whose asker is
// gone already is not sent.
func (g *group) next() (calls []*call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for n < len(g.waiting) && len(calls) < atOnce {
		if c := g.waiting[n]; !c.gone() {
			calls = append(calls, c)
		}
		n++
	}
	g.waiting = slices.Delete(g.waiting, 0, n)
	if calls == nil {
		g.idle++
	}
	return calls
}

func (c *call) gone() bool { return c.fate.Load() == left }

// deliver hands an answer to its asker, and reports whether it is still there.
func (c *call) deliver() bool {
	if !c.fate.CompareAndSwap(asked, answered) {
		return false
	}
	close(c.done)
	return true
}

// wait waits for the answer, no longer than the budget unless that is 0.
func (c *call) wait(ctx context.Context, budget time.Duration) (err error) {
	var late <-chan time.Time
	if budget > 0 {
		timer := time.NewTimer(budget)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-c.done:
		return nil
	case <-late:
		err = errLate
	case <-ctx.Done():
		err = ctx.Err()
	}
	if c.fate.CompareAndSwap(asked, left) {
		return err
	}
	<-c.done // it came just now
	return nil
}

// granted is what gives back all that the batch was granted.
func (c *call) granted() (back []store.Return) {
	if c.batch.Peek {
		return nil
	}
	groups, now := passed(&c.batch), c.batch.Now+int64(time.Since(c.begun))
	for i := range c.batch.Claims {
		if groups[c.batch.Claims[i].Group] {
			back = append(back, returnOf(&c.batch, i, now))
		}
	}
	return back
}

// passed is which groups of an answered batch were granted.
func passed(b *store.Batch) (groups [2]bool) {
	groups = [2]bool{true, true}
	for i := range b.Claims {
		g := b.Claims[i].Group
		groups[g] = groups[g] && b.Grants[i].OK
	}
	groups[store.Shadow] = groups[store.Shadow] && groups[store.Enforced]
	return groups
}

// returnOf gives one claim of a batch back.
func returnOf(b *store.Batch, i int, now int64) store.Return {
	c := &b.Claims[i]
	return store.Return{ID: b.ID, Owner: c.Owner, Limit: c.Limit, Handle: b.Grants[i].Handle, At: b.Now, Now: now, Tokens: c.Cost}
}
