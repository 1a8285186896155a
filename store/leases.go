package store

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// leases serve the keys that this worker asks for often from memory: the store
// lends a block of tokens in one call, and requests spend it.
//
// What is spent was charged when it was lent, so no more is ever admitted than
// the store granted. In time it may be admitted a little later than it was
// granted: over any window by as much as all workers hold, N·b. A worker that
// dies with a block strands it, at most N·b, as if requests had spent it.
//
// Which keys are leased is kept by golang-lru: who reads does not disturb the
// order, a loan does, and the key that has gone longest without one makes room
// for the next when there are too many; it returns what it holds.
type leases struct {
	config  LeaseConfig
	remote  *remote
	lender  Lender
	workers *atomic.Int32
	denials *denials

	heat   *heat
	memory *memory
	keys   *lru.Cache[hotID, *hotKey]
	some   atomic.Int32 // how many keys there are, roughly: 0 only if there are none

	serial  atomic.Uint64
	signal  chan struct{} // a loan is due
	mu      sync.Mutex
	waiting []*hotKey // for a loan; each once
	loans   lane

	past                 Tally // of keys that are not leased any more, guarded by mu
	calls, evicted, late atomic.Uint64
}

// lease prepares leases, if the driver lends and they are not off.
func (r *remote) lease(g *Guard) {
	if lender, ok := r.driver.(Lender); ok && !g.config.Leases.Off {
		r.leases = newLeases(g, r, lender)
	}
}

func newLeases(g *Guard, r *remote, lender Lender) *leases {
	l := &leases{
		config: g.config.Leases.complete(), remote: r, lender: lender, workers: &g.workers, denials: g.denials,
		heat: new(heat), memory: new(memory), signal: make(chan struct{}, 1), loans: make(lane, 2),
	}
	keys, err := lru.NewWithEvict(l.config.Keys, func(_ hotID, k *hotKey) { l.end(k) })
	if err != nil {
		panic(err) // its size is not positive
	}
	l.keys = keys
	return l
}

// served says which claims of a batch were served from memory. Those beyond
// its size are not.
type served uint32

func (s served) has(i int) bool { return s&(1<<i) != 0 }

// claim decides a batch: what it can from memory, and the rest by the store.
func (l *leases) claim(ctx context.Context, b *Batch) error {
	if b.Peek {
		return l.peek(ctx, b)
	}
	var from served
	for i := range min(len(b.Claims), 32) {
		if l.take(&b.Claims[i], &b.Grants[i], b.Now) {
			from |= 1 << i
		}
	}
	switch bits.OnesCount32(uint32(from)) {
	case 0:
		return l.remote.ask(ctx, b)
	case len(b.Claims):
		return nil
	}
	err := l.askRest(ctx, b, from)
	enforced, shadow := b.passed()
	for i := range b.Claims {
		if from.has(i) && (err != nil || !enforced || b.Claims[i].Group == Shadow && !shadow) {
			l.refund(b.Grants[i].Handle, b.Claims[i].Cost, b.Now)
			b.Grants[i].Handle = 0
		}
	}
	return err
}

// take serves one claim from memory, if it can.
func (l *leases) take(c *Claim, g *Grant, now int64) bool {
	if c.Cost <= 0 || !c.Limit.Lendable() {
		return false
	}
	k := l.find(c.Owner, c.Limit.ID)
	switch {
	case k == nil:
		l.watch(c, now)
		return false
	case k.limit.Fingerprint != c.Limit.Fingerprint:
		l.drop(k)
		return false
	}
	ok, due := k.take(c.Cost, now, l.config.Lease, g)
	if due {
		l.want(k, now)
	}
	return ok
}

func (l *leases) find(owner Key, limit uint64) *hotKey {
	if l.some.Load() == 0 {
		return nil
	}
	k, _ := l.keys.Peek(hotID{owner, limit})
	return k
}

// watch counts an ask for a key that is not leased, and leases it if there are
// many. A limit so low that its fair part is no block is never leased.
func (l *leases) watch(c *Claim, now int64) {
	count, since := l.heat.asked(c.Owner, c.Limit.ID, now)
	if count < l.config.hotCount() || c.Limit.Burst/l.parts() < smallest {
		return
	}
	k := &hotKey{id: hotID{c.Owner, c.Limit.ID}, limit: c.Limit, begun: now, due: true}
	k.askRate = float64(count) / time.Duration(max(since, measureFor)).Seconds()
	k.tokenRate = k.askRate * float64(c.Cost)
	k.ahead.Store(now - l.remote.clock())
	l.some.Add(1)
	_, there, evicted := l.keys.PeekOrAdd(k.id, k)
	switch {
	case there:
		l.some.Add(-1)
		return
	case evicted:
		l.evicted.Add(1)
	}
	l.want(k, now)
}

// parts is into how many parts what is left is divided: each worker may have
// one, and together they have half.
func (l *leases) parts() int64 { return 2 * int64(max(l.workers.Load(), 1)) }

// want puts a key in line for a loan, at a moment of its requests' clock.
func (l *leases) want(k *hotKey, now int64) {
	k.ahead.Store(now - l.remote.clock())
	l.mu.Lock()
	l.waiting = append(l.waiting, k)
	l.mu.Unlock()
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// drop ends the lease of a key.
func (l *leases) drop(k *hotKey) {
	if known, _ := l.keys.Peek(k.id); known == k {
		l.keys.Remove(k.id) // calls end
	}
}

// end returns what a key holds that is not leased any more.
func (l *leases) end(k *hotKey) {
	l.some.Add(-1)
	l.put(k.close(l.now(k), nil))
	l.fold(k)
}

// fold keeps the tally of a key that is gone.
func (l *leases) fold(k *hotKey) {
	tally, gone := k.settled()
	if !gone {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past.add(&tally)
}

// passed reports which groups of an answered batch were granted.
func (b *Batch) passed() (enforced, shadow bool) {
	groups := [2]bool{true, true}
	for i := range b.Claims {
		groups[b.Claims[i].Group] = groups[b.Claims[i].Group] && b.Grants[i].OK
	}
	return groups[Enforced], groups[Enforced] && groups[Shadow]
}

// rests are batches of what memory did not serve.
var rests = sync.Pool{New: func() any { return new(Batch) }}

// askRest asks the store for the claims that were not served.
func (l *leases) askRest(ctx context.Context, b *Batch, from served) error {
	rest := rests.Get().(*Batch)
	defer rests.Put(rest)
	claims := rest.Claims[:0]
	for i := range b.Claims {
		if !from.has(i) {
			claims = append(claims, b.Claims[i])
		}
	}
	grants := append(rest.Grants[:0], make([]Grant, len(claims))...)
	*rest = Batch{ID: b.ID, Now: b.Now, Budget: b.Budget, Claims: claims, Grants: grants}
	err := l.remote.ask(ctx, rest)
	next := 0
	for i := range b.Claims {
		if !from.has(i) {
			b.Grants[i] = rest.Grants[next]
			next++
		}
	}
	return err
}

// peek asks the store about all claims, and adds what is held here.
func (l *leases) peek(ctx context.Context, b *Batch) error {
	if err := l.remote.ask(ctx, b); err != nil {
		return err
	}
	for i := range b.Claims {
		c, g := &b.Claims[i], &b.Grants[i]
		if k := l.find(c.Owner, c.Limit.ID); k != nil && c.Cost >= 0 {
			k.mu.Lock()
			held := k.held(b.Now, l.config.Lease)
			k.mu.Unlock()
			g.Remaining = plus(g.Remaining, held)
			if !g.OK && c.Cost <= held {
				g.OK, g.RetryAfter = true, 0
			}
		}
	}
	return nil
}

// holds reports whether some of a claim's tokens are in memory: then a refusal
// of more of them says nothing about fewer, and is not remembered.
func (g *Guard) holds(c *Claim, now int64) bool {
	if g.remote == nil || g.remote.leases == nil {
		return false
	}
	l := g.remote.leases
	k := l.find(c.Owner, c.Limit.ID)
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held(now, l.config.Lease) > 0
}

// now is the moment by the clock of a key's requests, for work that no request
// brings a moment to. That clock may be any distance from the wall clock: a
// pipeline's never steps.
func (l *leases) now(k *hotKey) int64 { return l.remote.clock() + k.ahead.Load() }
