package storetest

import (
	"math"
	"math/big"

	"github.com/plimsoll-go/plimsoll/store"
)

// model is a store that is obviously right: one map, big integers, no
// concurrency. It says what a driver has to answer.
type model struct {
	states map[modelKey]*state
}

type modelKey struct {
	owner store.Key
	limit uint64
}

// state is what one owner owes of one limit.
type state struct {
	limit   *store.Limit
	holders map[store.ID]int64 // of slots: when each lease ends
	counter counter            // of tokens
	held    bool               // in this batch nothing passes
}

// counter counts tokens by one algorithm. All but settle and clone are asked of
// a counter that was brought to the moment.
type counter interface {
	asking
	returning
	copying
	spent(now int64) int64 // whole tokens, rounded up
}

// copying keeps what is spent.
type copying interface {
	clone() counter
	under(l *store.Limit) // asks by another limit from now on
}

// asking is what a claim needs.
type asking interface {
	settle(now int64)                // brings it to a moment
	ask(now, cost int64) store.Grant // the verdict
	take(now, cost int64)            // what was granted
	figures(now int64) store.Grant   // what remains, and until when
}

// returning is what a return needs, beside charge and newest.
type returning interface {
	charging
	memo(now int64) memo                     // of a grant
	outstanding(m memo, at, now int64) int64 // whole tokens of it that have not refilled
	give(m memo, tokens, at, now int64)      // under the limit that was charged
}

// charging changes what is owed without a grant.
type charging interface {
	charge(tokens, now int64)
	lower(tokens, taken, now int64)
	newest(now int64) int64 // when the newest tokens count as taken
}

// memo is what the model remembers of a grant, for its return.
type memo struct {
	owed  *big.Int // of buckets, after the batch
	taken int64    // of windows and logs, when the tokens count as taken
}

func newModel() *model { return &model{states: map[modelKey]*state{}} }

func newState(l *store.Limit) *state {
	return &state{limit: l, holders: map[store.ID]int64{}, counter: newCounter(l, 0, 0)}
}

// newCounter counts by a limit, of which some tokens are spent at a moment.
func newCounter(l *store.Limit, spent, now int64) counter {
	var c counter
	switch {
	case l.Kind == store.Slots:
		return nil
	case l.Algorithm == store.TokenBucket:
		return newBucket(l, spent, now)
	case l.Algorithm == store.FixedWindow:
		c = &windowCounter{limit: l}
	case l.Algorithm == store.SlidingWindow:
		c = &slidingCounter{limit: l}
	case l.Algorithm == store.SlidingLog:
		c = &logCounter{limit: l}
	case l.Algorithm == store.StrictWindow:
		c = &strictCounter{limit: l, parts: map[int64]int64{}}
	default:
		c = &leakyCounter{limit: l}
	}
	c.settle(now)
	if l.Algorithm != store.FixedWindow && l.Algorithm != store.SlidingWindow {
		spent = min(spent, l.Burst)
	}
	if spent > 0 {
		c.take(now, spent)
	}
	return c
}

func (s *state) clone() *state {
	c := &state{limit: s.limit, holders: map[store.ID]int64{}, held: s.held}
	for id, ends := range s.holders {
		c.holders[id] = ends
	}
	if s.counter != nil {
		c.counter = s.counter.clone()
	}
	return c
}

// settle brings a state to a moment: what has refilled, what has ended.
func (s *state) settle(now int64) {
	if s.counter != nil {
		s.counter.settle(now)
	}
	for id, ends := range s.holders {
		if ends <= now {
			delete(s.holders, id)
		}
	}
}

// change makes a settled state that of another limit: what is spent stays
// spent, in tokens; between buckets that is exact, else whole tokens.
func (s *state) change(to *store.Limit, now int64) {
	from := s.limit
	s.limit = to
	if from.Fingerprint == to.Fingerprint || to.Kind == store.Slots {
		return
	}
	if b, ok := s.counter.(*bucketCounter); ok && to.Algorithm == store.TokenBucket {
		s.counter = b.convert(to)
		return
	}
	s.counter = newCounter(to, s.counter.spent(now), now)
}

// hold leaves a settled state as it is if it would have to forget something to
// be that of another limit, and answers then by its own rate and the other's
// burst, which lets nothing pass.
func (s *state) hold(to *store.Limit, now int64) (held bool) {
	from := s.limit
	if from.Fingerprint == to.Fingerprint || to.Kind == store.Slots || s.counter.spent(now) <= to.Burst {
		return false
	}
	window := func(l *store.Limit) bool {
		return l.Algorithm == store.FixedWindow || l.Algorithm == store.SlidingWindow
	}
	if window(from) && window(to) {
		return false
	}
	if from.Algorithm == store.TokenBucket && to.Algorithm == store.TokenBucket {
		before, after := big.NewRat(from.Rate.Count, int64(from.Rate.Period)), big.NewRat(to.Rate.Count, int64(to.Rate.Period))
		if after.Cmp(before) > 0 {
			return false
		}
	}
	l := *from
	l.Burst = to.Burst
	s.under(&l)
	s.held = true
	return true
}

func (s *state) under(l *store.Limit) {
	s.limit = l
	s.counter.under(l)
}

// take asks a settled state for a cost at a moment.
func (s *state) take(id store.ID, now, cost int64) (g store.Grant) {
	switch {
	case s.limit.Kind == store.Slots:
		if g.OK = int64(len(s.holders)) < s.limit.Max; g.OK {
			s.holders[id] = now + int64(s.limit.Lease)
		}
	case cost < 0 || cost > s.limit.Burst:
		g.RetryAfter = store.Never
	default:
		if s.held {
			cost = max(cost, 1)
		}
		if g = s.counter.ask(now, cost); g.OK {
			s.counter.take(now, cost)
		}
		if l, ok := s.counter.(*leakyCounter); ok && g.OK && cost > 0 {
			g.Delay = l.delay()
		}
	}
	return g
}

// figures are what a settled state tells beside the verdict.
func (s *state) figures(g *store.Grant, now int64) {
	if s.limit.Kind == store.Slots {
		g.Remaining = max(0, s.limit.Max-int64(len(s.holders)))
		return
	}
	f := s.counter.figures(now)
	g.Remaining, g.ResetAfter = f.Remaining, f.ResetAfter
}

// claim decides a batch, and returns what to remember of each claim.
func (m *model) claim(b *store.Batch) (grants []store.Grant, memos []memo) {
	grants = make([]store.Grant, len(b.Claims))
	for i := range b.Claims {
		s := m.at(b.Claims[i].Owner, b.Claims[i].Limit)
		s.settle(b.Now)
		if own := s.limit; s.held {
			continue
		} else if s.hold(b.Claims[i].Limit, b.Now) {
			defer m.release(b.Claims[i].Owner, own)
			continue
		}
		s.change(b.Claims[i].Limit, b.Now)
	}
	passed := m.try(b, store.Enforced, grants, true)
	m.try(b, store.Shadow, grants, passed)
	for i := range b.Claims {
		s := m.at(b.Claims[i].Owner, b.Claims[i].Limit)
		s.figures(&grants[i], b.Now)
		memos = append(memos, memo{})
		if s.counter != nil {
			memos[i] = s.counter.memo(b.Now)
		}
	}
	return grants, memos
}

// release undoes hold.
func (m *model) release(owner store.Key, own *store.Limit) {
	s := m.at(owner, own)
	s.under(own)
	s.held = false
}

// try judges the claims of a group, one after the other, on copies; if all
// pass and may, the copies become the state.
func (m *model) try(b *store.Batch, g store.Group, grants []store.Grant, may bool) (passed bool) {
	copies := &model{states: map[modelKey]*state{}}
	for key, s := range m.states {
		copies.states[key] = s.clone()
	}
	passed = true
	for i := range b.Claims {
		if c := &b.Claims[i]; c.Group == g {
			grants[i] = copies.at(c.Owner, c.Limit).take(b.ID, b.Now, c.Cost)
			passed = passed && grants[i].OK
		}
	}
	if passed && may {
		m.states = copies.states
	}
	return passed
}

func (m *model) at(owner store.Key, l *store.Limit) *state {
	key := modelKey{owner, l.ID}
	if m.states[key] == nil {
		m.states[key] = newState(l)
	}
	return m.states[key]
}

// giveBack settles one return.
func (m *model) giveBack(r *store.Return, then memo) {
	s := m.at(r.Owner, r.Limit)
	s.settle(r.Now)
	switch {
	case r.Limit.Kind == store.Slots:
		delete(s.holders, r.ID)
	case r.Reset:
		s.counter = newCounter(s.limit, 0, r.Now)
	case r.Tokens == 0:
	case r.Tokens < 0:
		if s.counter.spent(r.Now) == 0 {
			s.change(r.Limit, r.Now) // as if never used
		}
		s.counter.charge(-max(r.Tokens, -math.MaxInt64), r.Now)
	case r.AnyGrant:
		s.counter.lower(r.Tokens, s.counter.newest(r.Now), r.Now)
	case r.Limit.Fingerprint == s.limit.Fingerprint:
		s.counter.give(then, r.Tokens, r.At, r.Now)
	default:
		charged := newCounter(r.Limit, 0, r.Now)
		s.counter.lower(min(r.Tokens, charged.outstanding(then, r.At, r.Now)), r.At, r.Now)
	}
}

// renew prolongs a lease that has not ended.
func (m *model) renew(r *store.Return) {
	s := m.at(r.Owner, r.Limit)
	s.settle(r.Now)
	if _, held := s.holders[r.ID]; held {
		s.holders[r.ID] = r.Now + int64(r.Limit.Lease)
	}
}
