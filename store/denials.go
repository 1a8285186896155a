package store

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// denials remembers refusals, so that the next request of the same owner can
// be refused from memory. It is a fixed table that forgets by overwriting:
// a forgotten refusal costs one store call, never a wrong answer.
//
// A refusal by a token bucket is remembered as the moment from which a cost
// could pass, and that moment is known for every other cost too: each token
// more is one emission interval later. Of other limits it is known only that a
// larger cost passes no earlier.
//
// Whatever might make an answer late is left out: a charge does not move a
// refusal, rounding makes it end sooner, and it holds for a second at most,
// because other workers give back what is not told here. A refund that meets a
// refusal on its way here is the exception: until the second is over, it may
// deny as long as those tokens take to come.
type denials struct {
	horizon atomic.Int64         // no refusal holds after it; so most looks read one word
	slots   *[denialSlots]denial // by itself, so that each lies in one cache line
}

const (
	denialBits  = 12
	denialSlots = 1 << denialBits
)

const (
	// fullFor is how long a full limit on slots is remembered, if no slot of
	// the owner is given back here before.
	fullFor = 10 * time.Millisecond
	// askAgain is how long any refusal is remembered.
	askAgain = time.Second
)

// denial is one slot of the table, and a cache line. version is odd while the
// slot is written; a reader that sees it odd or changed knows nothing.
type denial struct {
	writing sync.Mutex // held by who writes
	version atomic.Uint64
	owner   atomic.Uint64 // mixed from the owner and the limit
	print   atomic.Uint64 // of the limit; a changed limit forgets
	holds   atomic.Int64  // until when it is remembered
	until   atomic.Int64  // from when the cost could pass; a refund brings it forward
	cost    atomic.Int64
	reset   atomic.Int64
}

func newDenials() *denials { return &denials{slots: new([denialSlots]denial)} }

func (d *denials) at(owner Key, l *Limit) (*denial, uint64) {
	h := owner.Lo ^ l.ID
	return &d.slots[(h*0x9e3779b97f4a7c15)>>(64-denialBits)], owner.Hi ^ h
}

// none reports whether nothing is remembered that holds at a moment.
func (d *denials) none(now int64) bool { return d.horizon.Load() <= now }

// find answers from a remembered refusal.
func (d *denials) find(owner Key, l *Limit, cost, now int64) (g Grant, denied bool) {
	denied = d.answers(owner, l, cost, now, &g)
	return g, denied
}

// answers is find for the look, which cannot afford to carry a grant around.
func (d *denials) answers(owner Key, l *Limit, cost, now int64, g *Grant) (denied bool) {
	if d.none(now) {
		return false
	}
	e, mark := d.at(owner, l)
	version := e.version.Load()
	if e.holds.Load() <= now || e.owner.Load() != mark || e.print.Load() != l.Fingerprint {
		return false
	}
	if e.holds.Load() > plus(now, 2*int64(askAgain)) { // of a clock that was ahead of the asker's
		return false
	}
	until, known, reset := e.until.Load(), e.cost.Load(), e.reset.Load()
	if version&1 != 0 || e.version.Load() != version {
		return false
	}
	g.Remaining, g.RetryAfter, g.ResetAfter = 0, 0, time.Duration(max(plus(reset, -now), 0))
	if l.Kind == Slots {
		return true
	}
	left := plus(until, -now)
	wait, denied := waitFor(l, left, cost, known)
	g.RetryAfter = time.Duration(wait)
	g.Remaining = leftFor(l, left, known)
	return denied
}

// leftFor is how many tokens are left when a cost, known, has to wait for a
// time. Of a window that is not known, and 0 is said.
func leftFor(l *Limit, wait, known int64) int64 {
	if l.Algorithm != TokenBucket || wait <= 0 || known <= 1 {
		return 0
	}
	return max(0, known-1-(wait-1)/int64(l.GCRA.Interval()))
}

// waitFor is how long a cost has to wait when another one, known, has to wait
// for a time, and whether that is certain: a wait that rounding might have made
// is not.
func waitFor(l *Limit, wait, cost, known int64) (int64, bool) {
	switch {
	case cost < 0 || cost > l.Burst:
		return int64(Never), true
	case l.Algorithm != TokenBucket:
		return wait, cost >= known && wait > 0
	}
	interval := int64(l.GCRA.Interval()) // rounded up, by less than 1
	if cost >= known {
		return plus(wait, times(cost-known, interval)), wait > 0
	}
	certain := plus(wait, -times(known-cost, interval))
	return plus(wait, -times(known-cost, interval-1)), certain > 0
}

// remember keeps a refusal; Never is not kept, the look needs no memory for it.
func (d *denials) remember(c *Claim, g *Grant, now int64) {
	wait := int64(g.RetryAfter)
	if c.Limit.Kind == Slots {
		wait = int64(fullFor)
	}
	if wait <= 0 {
		return
	}
	e, mark := d.at(c.Owner, c.Limit)
	if !e.writing.TryLock() {
		return
	}
	defer e.writing.Unlock()
	holds := plus(now, min(wait, int64(askAgain)))
	d.reach(holds) // before anything is there to be moved
	e.version.Add(1)
	e.owner.Store(mark)
	e.print.Store(c.Limit.Fingerprint)
	e.cost.Store(c.Cost)
	e.until.Store(plus(now, wait))
	e.holds.Store(holds)
	e.reset.Store(plus(now, int64(g.ResetAfter)))
	e.version.Add(1)
}

// reach moves the horizon out to a moment.
func (d *denials) reach(moment int64) {
	for {
		h := d.horizon.Load()
		if h >= moment || d.horizon.CompareAndSwap(h, moment) {
			return
		}
	}
}

// move brings a remembered refusal forward by tokens that were given back; a
// slot given back, and a limit whose wait does not shrink with tokens, forget.
func (d *denials) move(r *Return) {
	if d.none(r.Now) {
		return
	}
	e, mark := d.at(r.Owner, r.Limit)
	if e.owner.Load() != mark || r.Limit.Kind == Tokens && r.Tokens <= 0 && !r.Reset {
		return
	}
	e.writing.Lock() // for a few stores; a refund must not be missed
	defer e.writing.Unlock()
	if e.owner.Load() != mark {
		return
	}
	e.version.Add(1)
	defer e.version.Add(1)
	if r.Limit.Kind == Slots || r.Limit.Algorithm != TokenBucket || r.Reset || e.print.Load() != r.Limit.Fingerprint {
		e.holds.Store(0)
		return
	}
	shift := times(r.Tokens, int64(r.Limit.GCRA.Interval()))
	e.until.Store(plus(e.until.Load(), -shift))
	e.reset.Store(plus(e.reset.Load(), -shift))
}

// plus adds, and stops at the ends of the range.
func plus(a, b int64) int64 {
	switch sum := a + b; {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	default:
		return sum
	}
}

// times multiplies what is not negative, and stops at the end of the range.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(max(a, 0)), uint64(max(b, 0)))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}
