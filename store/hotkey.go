package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// blocks is how many blocks of one key are spent of at once.
const blocks = 4

// smallest is the size of the smallest block worth a call of its own.
const smallest = 4

// hotKey is one limit of one owner that is served from memory. A block is spent
// until it is empty or too old; before it is empty the next one is asked for.
type hotKey struct {
	id    hotID
	limit *Limit
	ahead atomic.Int64 // of its requests' clock, against the guard's

	mu     sync.Mutex
	blocks [blocks]*block // the oldest is replaced first
	next   int            // the oldest
	gone   bool           // not served any more
	epoch  int            // counts resets: a loan that was asked for before one is void
	due    bool           // a loan is asked for
	rest   int64          // until when none is asked for, because the last one was refused

	most  int64 // what may be held at once, b: a part of the burst at most
	after int64 // what the store had left, after the last loan
	reset int64 // when the limit is as if never used, by the last loan

	begun        int64 // of what is being measured
	asks, tokens int64 // since
	askRate      float64
	tokenRate    float64 // a second

	tally Tally
}

type hotID struct {
	owner Key
	limit uint64
}

// held is what can be spent at a moment.
func (k *hotKey) held(now int64, lease time.Duration) (sum int64) {
	for i := range k.blocks {
		if b := k.blocks[i]; b.live(now, lease) {
			sum += b.left
		}
	}
	return sum
}

// take spends a cost, if one block has it. It reports whether a loan should be
// asked for.
func (k *hotKey) take(cost, now int64, lease time.Duration, g *Grant) (ok, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone {
		return false, false
	}
	k.asks++
	k.tokens += cost
	for i := range k.blocks {
		if b := k.blocks[(k.next+i)%blocks]; b.live(now, lease) && b.left >= cost {
			b.left -= cost
			k.tally.Spent += cost
			g.Handle, ok = leased|b.serial, true
			break
		}
	}
	held := k.held(now, lease)
	if ok {
		g.OK, g.RetryAfter, g.Delay = true, 0, 0
		g.Remaining = plus(held, k.after/2)
		g.ResetAfter = time.Duration(max(0, k.reset-now))
	}
	rests := now < k.rest && k.rest-now <= int64(restRefused) // or the clock was set back
	if held*4 < k.most && !k.due && !rests {
		k.due, due = true, true
	}
	return ok, due
}

// charge spends what a request turned out to cost beside what it claimed, if a
// block has it.
func (k *hotKey) charge(tokens int64, l *Limit, now int64, lease time.Duration) bool {
	if k.limit.Fingerprint != l.Fingerprint {
		return false
	}
	var g Grant
	ok, _ := k.take(tokens, now, lease, &g)
	return ok
}

// toStore is what returns so many unspent tokens of a block. Of a bucket, what
// one grant leads to refills once: what went back before has refilled sooner.
func (k *hotKey) toStore(b *block, tokens, now int64) Return {
	at := b.at
	if k.limit.Algorithm == TokenBucket {
		at = plus(at, -times(b.back, int64(k.limit.GCRA.Interval())))
	}
	b.left -= tokens
	b.back += tokens
	k.tally.Returned += tokens
	return Return{Owner: k.id.owner, Limit: k.limit, Handle: b.handle, At: at, Now: max(now, b.at), Tokens: tokens}
}

// expire appends what returns the blocks that are too old, or all of them.
func (k *hotKey) expire(now int64, lease time.Duration, all bool, back []Return) []Return {
	for i := range k.blocks {
		b := k.blocks[i]
		if b != nil && b.left > 0 && (all || !b.live(now, lease)) {
			back = append(back, k.toStore(b, b.left, now))
		}
		if b != nil && all {
			b.over = true
		}
	}
	return back
}

// How long none is asked for.
const (
	restRefused = 100 * time.Millisecond // after a refusal: little is left
	restSmall   = 10 * time.Millisecond  // when as much is held as is needed
)

// ask makes the loan that is due: what the next requests need for some time,
// less what is held.
func (k *hotKey) ask(c *LeaseConfig, parts, now int64) (loan Loan, epoch int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.measure(now)
	k.most = min(int64(min(k.tokenRate*c.Ahead.Seconds(), float64(k.limit.Burst))), k.limit.Burst/parts)
	want := k.most - k.held(now, c.Lease)
	if k.gone || want < smallest {
		k.due, k.rest = false, now+int64(restSmall)
		return loan, 0, false
	}
	return Loan{Owner: k.id.owner, Limit: k.limit, Now: now, Want: want, Parts: parts, Least: smallest}, k.epoch, true
}

// measureFor is over how long a rate is measured at least.
const measureFor = int64(20 * time.Millisecond)

// measure brings the rates up to date: the one that sizes blocks rises at once
// and falls by halves, the one that keeps a key hot moves by quarters.
func (k *hotKey) measure(now int64) {
	span := now - k.begun
	if span >= 0 && span < measureFor {
		return
	}
	if seconds := time.Duration(span).Seconds(); span > 0 {
		tokens, asks := float64(k.tokens)/seconds, float64(k.asks)/seconds
		k.tokenRate = max(tokens, (k.tokenRate+tokens)/2)
		k.askRate += (asks - k.askRate) / 4
	}
	k.begun, k.tokens, k.asks = now, 0, 0
}

// pending is a loan that is asked for, and by whom.
type pending struct {
	key    *hotKey
	epoch  int
	serial uint64
	memory *memory
}

// lent takes the answer to a loan, and appends what is to be returned of it.
func (p *pending) lent(loan *Loan, now int64, lease time.Duration, back []Return) []Return {
	k := p.key
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due = false
	k.tally.Lent += loan.Lent
	if p.epoch != k.epoch {
		k.tally.Void += loan.Lent
		return back
	}
	k.after, k.reset = loan.Grant.Remaining, plus(loan.Now, int64(loan.Grant.ResetAfter))
	if loan.Lent == 0 {
		k.rest = now + int64(restRefused)
		return back
	}
	b := &block{key: k, serial: p.serial, handle: loan.Grant.Handle, at: loan.Now, until: plus(loan.Now, int64(lease)), size: loan.Lent, left: loan.Lent}
	if k.limit.Algorithm == FixedWindow {
		b.until = min(b.until, k.reset) // of the next window it is not
	}
	p.memory.keep(b)
	back = k.replace(b, now, back)
	return k.expire(now, lease, k.gone, back)
}

// replace puts a block in the place of the oldest, and appends what returns
// that one.
func (k *hotKey) replace(b *block, now int64, back []Return) []Return {
	old := k.blocks[k.next]
	k.blocks[k.next] = b
	k.next = (k.next + 1) % blocks
	if old == nil {
		return back
	}
	if old.over = true; old.left > 0 {
		back = append(back, k.toStore(old, old.left, now))
	}
	return back
}

// failed takes note that a loan came to nothing.
func (k *hotKey) failed(now int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due, k.rest = false, now+int64(restRefused)
}

// sweep appends what returns the blocks that are too old, and reports whether
// the key is asked for so seldom that it is not hot any more.
func (k *hotKey) sweep(c *LeaseConfig, now int64, back []Return) (_ []Return, cold bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.measure(now)
	return k.expire(now, c.Lease, false, back), k.askRate*2 < float64(c.HotAt)
}

// forget makes what is held worthless: the store has forgotten what it lent.
func (k *hotKey) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.blocks {
		if b := k.blocks[i]; b != nil {
			k.tally.Void += b.left
			b.left, b.size, b.over = 0, b.back, true // nothing of it comes back
		}
		k.blocks[i] = nil
	}
	k.epoch++
	k.rest, k.after, k.reset = 0, 0, 0
}

// close ends a key, once, and returns what it holds.
func (k *hotKey) close(now int64, back []Return) []Return {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = true
	return k.expire(now, 0, true, back)
}

// settled takes the tally of a key that is gone.
func (k *hotKey) settled() (t Tally, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone {
		t, k.tally = k.tally, Tally{}
	}
	return t, k.gone
}

// count is the tally with what is held now.
func (k *hotKey) count() Tally {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tally
	for _, b := range k.blocks {
		if b != nil {
			t.Held += b.left
		}
	}
	return t
}
