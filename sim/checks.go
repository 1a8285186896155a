package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// checks hold the invariants that concern shared state, at each call that the
// store carries out.
type checks struct {
	world *world

	mu     sync.Mutex
	tokens *store.Limit
	slots  *store.Limit
	rate   float64 // tokens a second
	twins  map[store.Key]*twin
	owners map[store.ID]store.Key // of the slots that are held
	locals map[store.ID]*worker   // requests that were granted on the embedded store
	shares map[localKey]*localShare
	// What was admitted on what the store granted, by worker and by caller.
	accounts   map[localKey]*account
	admissions map[store.Key]*twin
	losses     int       // of data, since the beginning
	stepped    bool      // the store's clock was set: buckets are no longer comparable
	lostAt     time.Time // when data was lost last
	budgets    []moment  // what leases may be together, lately
}

type localKey struct {
	worker *worker
	owner  store.Key
}

// localShare is what a worker has granted one owner by itself.
type localShare struct {
	bucket
	workers int // that it shared with when it was asked last
}

// moment is a figure and when it was heard.
type moment struct {
	at    time.Time
	value float64
}

func newChecks(w *world) (*checks, error) {
	tokens, slots, err := w.scenario.setup.limits()
	if err != nil {
		return nil, err
	}
	return &checks{
		world: w, tokens: tokens, slots: slots, rate: float64(tokens.Rate.Count) / tokens.Rate.Period.Seconds(),
		twins: map[store.Key]*twin{}, owners: map[store.ID]store.Key{}, locals: map[store.ID]*worker{}, shares: map[localKey]*localShare{},
		accounts: map[localKey]*account{}, admissions: map[store.Key]*twin{},
	}, nil
}

func (c *checks) twin(owner store.Key) *twin {
	t := c.twins[owner]
	if t == nil {
		t = &twin{slots: map[store.ID]*slot{}}
		c.twins[owner] = t
	}
	return t
}

func (c *checks) dataLost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.losses++
	c.lostAt = time.Now()
	for _, t := range c.twins {
		t.bucket = bucket{}
		clear(t.slots)
	}
	clear(c.owners)
}

func (c *checks) clockStepped(time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepped = true
}

// granted checks a claim that the store has just decided.
func (c *checks) granted(w *worker, b *store.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b.Grants {
		if !b.Grants[i].OK {
			return // all or none: a refusal of one is one of all
		}
	}
	for i := range b.Claims {
		switch claim, grant := &b.Claims[i], &b.Grants[i]; claim.Limit.ID {
		case c.tokens.ID:
			c.account(w, claim.Owner).tokens += claim.Cost
			c.tokensGranted(claim, grant, b.Now)
		case c.slots.ID:
			c.slotGranted(w, b.ID, claim.Owner, grant.Remaining, b.Now)
		}
	}
}

// tokensGranted is the rate: in any window of W no more than B + R·W, and B
// more for each loss of data in it.
func (c *checks) tokensGranted(claim *store.Claim, grant *store.Grant, now int64) {
	t := c.twin(claim.Owner)
	t.grant(float64(claim.Cost), c.rate, now, c.losses)
	if c.stepped {
		return
	}
	burst := float64(c.tokens.Burst)
	const rounding = 1e-3
	if over := t.excess(burst, c.losses); over > rounding {
		c.world.journal.violate("rate", "caller %s was granted %.3f tokens more than B + R·W in some window (B %v, R %v/s, %d losses of data)",
			c.world.callerName(claim.Owner), over, burst, c.rate, c.losses)
	}
	if left := burst - t.bucket.level; float64(grant.Remaining) > left+rounding {
		c.world.journal.violate("rate", "the store says that caller %s has %d tokens left, and it has %.3f", c.world.callerName(claim.Owner), grant.Remaining, left)
	}
}

// slotGranted is the cap: never more than K that are not over.
func (c *checks) slotGranted(w *worker, id store.ID, owner store.Key, remaining, now int64) {
	t := c.twin(owner)
	t.prune(now)
	if t.slots[id] != nil {
		c.world.journal.violate("slots", "a request got a second slot")
	}
	t.slots[id] = &slot{worker: w, granted: time.Now(), until: now + int64(c.slots.Lease)}
	c.owners[id] = owner
	held := int64(len(t.slots))
	if held > c.slots.Max || remaining < 0 {
		c.world.journal.violate("slots", "caller %s holds %d slots of %d", c.world.callerName(owner), held, c.slots.Max)
	}
	if said := c.slots.Max - remaining; said != held && !c.stepped {
		c.world.journal.violate("slots", "the store says that caller %s holds %d slots, and it holds %d", c.world.callerName(owner), said, held)
	}
}

func (c *checks) returned(w *worker, returns []store.Return) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range returns {
		switch r := &returns[i]; r.Limit.ID {
		case c.tokens.ID:
			c.account(w, r.Owner).tokens -= r.Tokens
			c.twin(r.Owner).refund(float64(r.Tokens), c.rate, r.Now)
		case c.slots.ID:
			delete(c.twin(r.Owner).slots, r.ID)
			delete(c.owners, r.ID)
		}
	}
}

func (c *checks) renewed(w *worker, held []store.Return) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range held {
		r := &held[i]
		if r.Limit.ID != c.slots.ID { // a stream's, which is counted elsewhere
			continue
		}
		t := c.twin(r.Owner)
		t.prune(r.Now)
		s := t.slots[r.ID]
		if s == nil {
			continue
		}
		s.until = r.Now + int64(c.slots.Lease)
		if w.dead.Load() {
			c.world.journal.violate("slots", "a dead worker renewed a slot")
		}
	}
}

// unheard notes that the answer to a claim did not reach its worker, which
// cannot give back what it does not know of.
func (c *checks) unheard(id store.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.slotOf(id); s != nil {
		s.unheard = true
	}
}

func (c *checks) slotOf(id store.ID) *slot {
	owner, known := c.owners[id]
	if !known {
		return nil
	}
	return c.twin(owner).slots[id]
}

// admitted checks that a request was granted what it was admitted on.
func (c *checks) admitted(w *worker, r *pipeline.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.locals[r.ID()] == nil {
		c.spent(w, r)
	}
	if s := c.slotOf(r.ID()); s != nil {
		s.active = true
		return
	}
	if c.locals[r.ID()] == nil && time.Since(c.lostAt) > longestDecision {
		c.world.journal.violate("all or none", "worker %d admitted a request of caller %s that holds no slot", w.place+1, c.world.callerName(r.Caller.ID))
	}
}

func (c *checks) ended(r *pipeline.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.locals, r.ID())
	if s := c.slotOf(r.ID()); s != nil {
		s.active, s.ended = false, time.Now()
	}
}

// decidedLocally checks the share of a worker that goes by itself: B/N + R/N·D.
func (c *checks) decidedLocally(w *worker, b *store.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	granted := !slices.ContainsFunc(b.Grants, func(g store.Grant) bool { return !g.OK })
	if granted {
		c.locals[b.ID] = w
	}
	for i := range b.Claims {
		claim := &b.Claims[i]
		if claim.Limit.ID != c.tokens.ID {
			continue
		}
		key := localKey{w, claim.Owner}
		workers, burst := c.shareNow(key, b.Now)
		if granted {
			c.shareSpent(key, float64(claim.Cost), burst, workers)
		}
	}
}

// shareNow brings a worker's share to a moment. What is spent carries over when
// the number of workers changes, but is never more than the smaller share: to
// forget the rest once is the price of such a change.
func (c *checks) shareNow(key localKey, now int64) (workers int, burst float64) {
	s := c.shares[key]
	workers, most := key.worker.workers()
	if s == nil {
		s = &localShare{workers: workers}
		c.shares[key] = s
	}
	s.to(now, c.rate/float64(min(workers, s.workers)))
	if most = max(most, s.workers); workers < most || s.workers < workers {
		s.level = min(s.level, max(1, float64(c.tokens.Burst/int64(most))))
	}
	s.workers = workers
	return workers, max(1, float64(c.tokens.Burst/int64(workers)))
}

func (c *checks) shareSpent(key localKey, cost, burst float64, workers int) {
	s := c.shares[key]
	s.level += cost
	const rounding = 1e-3
	if s.level > burst+rounding {
		c.world.journal.violate("rate", "worker %d, by itself, granted caller %s %.3f tokens more than its share of B/%d + R/%d·D",
			key.worker.place+1, c.world.callerName(key.owner), s.level-burst, workers, workers)
	}
}

func (c *checks) returnedLocally(w *worker, returns []store.Return) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range returns {
		r := &returns[i]
		if level := c.shares[localKey{w, r.Owner}]; level != nil && r.Limit.ID == c.tokens.ID {
			level.level = max(0, level.level-float64(r.Tokens))
		}
		delete(c.locals, r.ID)
	}
}

// leased checks a lease: it never takes those in use above the budget of the
// moment.
func (c *checks) leased(w *worker, r *store.Report, v *store.View) {
	reserve := c.world.scenario.setup.reserve
	budget := max(0, (1-reserve)*v.Capacity-v.InFlight[priority.Critical.Index()])
	now := time.Now()
	c.mu.Lock()
	c.budgets = append(c.budgets, moment{now, budget})
	for len(c.budgets) > 0 && now.Sub(c.budgets[0].at) > 10*time.Second {
		c.budgets = c.budgets[1:]
	}
	allowed := budget
	if v.Learning { // leases that were brought along go on
		for _, m := range c.budgets {
			allowed = max(allowed, m.value)
		}
	}
	c.mu.Unlock()
	if v.Lease <= 0 || r.Draining || v.Learning && r.Lease == 0 {
		return
	}
	others := c.world.leasesInUse(w)
	const rounding = 1e-6
	if sum := others + v.Lease; sum > allowed+rounding && v.Lease > r.Lease+rounding {
		c.world.journal.violate("leases", "worker %d was leased %.2f beside %.2f of others, together above the budget of %.2f", w.place+1, v.Lease, others, allowed)
	}
}

// tick looks for slots that nobody can use: of requests that have ended, and
// of workers that have died.
func (c *checks) tick(now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, owner := range c.owners {
		s := c.twins[owner].slots[id]
		if s == nil || s.until <= now {
			delete(c.owners, id)
			continue
		}
		if problem := c.stuck(s); problem != "" {
			c.world.journal.violate("slots given back", "caller %s: %s", c.world.callerName(owner), problem)
		}
	}
}

// Within these a slot is back: after its request has ended, or was refused,
// while the store can be reached; and after its worker has died, beside the
// lease.
const (
	backWithin = time.Second
	deadWithin = time.Second
)

func (c *checks) stuck(s *slot) string {
	died, dead := s.worker.death()
	switch {
	case dead && time.Since(died) > c.slots.Lease+deadWithin:
		return fmt.Sprintf("worker %d died %s ago and still holds a slot", s.worker.place+1, time.Since(died))
	case dead, s.active, s.unheard, c.stepped:
		return ""
	}
	ended := s.ended
	if ended.IsZero() {
		ended = s.granted.Add(longestDecision)
	}
	if free := latest(ended, c.world.calmSince(s.worker)); time.Since(free) > backWithin {
		return fmt.Sprintf("a request of worker %d ended %s ago and still holds a slot", s.worker.place+1, time.Since(ended))
	}
	return ""
}
