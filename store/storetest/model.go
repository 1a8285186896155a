package storetest

import (
	"math"
	"math/big"
	"time"

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
	limit *store.Limit

	at int64 // the moment that it was brought to

	// Token bucket: how far it is ahead of that moment, in units.
	owed *big.Int

	// Fixed window.
	start, used int64

	// Slots: when each holder's lease ends.
	holders map[store.ID]int64
}

// memo is what the model remembers of a grant, for its return.
type memo struct {
	owed  *big.Int // after the batch
	start int64
}

func newModel() *model { return &model{states: map[modelKey]*state{}} }

func newState(l *store.Limit) *state {
	return &state{limit: l, owed: new(big.Int), holders: map[store.ID]int64{}}
}

func (s *state) clone() *state {
	c := *s
	c.owed = new(big.Int).Set(s.owed)
	c.holders = map[store.ID]int64{}
	for id, ends := range s.holders {
		c.holders[id] = ends
	}
	return &c
}

// units are how many units a nanosecond has and a token takes: whole numbers,
// as small as they can be.
func units(l *store.Limit) (nanosecond, token *big.Int) {
	count, period := big.NewInt(l.Rate.Count), big.NewInt(int64(l.Rate.Period))
	gcd := new(big.Int).GCD(nil, nil, count, period)
	return count.Div(count, gcd), period.Div(period, gcd)
}

func times(a *big.Int, n int64) *big.Int { return new(big.Int).Mul(a, big.NewInt(n)) }

// full is the debt of an empty bucket, and patience how much further behind a
// clock may be before it counts as set back.
func full(l *store.Limit) (capacity, patience *big.Int) {
	nanosecond, token := units(l)
	capacity = times(token, l.Burst)
	patience = new(big.Int).Sub(capacity, token)
	if second := times(nanosecond, int64(time.Second)); second.Cmp(patience) > 0 {
		patience = second
	}
	return capacity, patience
}

// settle brings a state to a moment: what has refilled, what has ended.
func (s *state) settle(now int64) {
	switch {
	case s.limit.Kind == store.Slots:
		for id, ends := range s.holders {
			if ends <= now {
				delete(s.holders, id)
			}
		}
	case s.limit.Algorithm == store.TokenBucket:
		nanosecond, _ := units(s.limit)
		capacity, patience := full(s.limit)
		if s.owed.Sign() > 0 {
			s.owed.Sub(s.owed, times(nanosecond, now-s.at))
		}
		if s.owed.Sign() < 0 {
			s.owed.SetInt64(0)
		}
		if s.owed.Cmp(patience.Add(patience, capacity)) > 0 {
			s.owed.Set(capacity)
		}
	default:
		window := int64(s.limit.Rate.Period)
		start := now - now%window
		if start > s.start || s.used == 0 {
			s.start, s.used = start, 0
		} else if s.start-now > int64(time.Second) {
			s.start = start
		}
	}
	s.at = now
}

// change makes a settled state that of another limit: what is spent stays
// spent, in tokens.
func (s *state) change(to *store.Limit) {
	from := s.limit
	s.limit = to
	if from.Fingerprint == to.Fingerprint || to.Kind == store.Slots {
		return
	}
	_, before := units(from)
	_, after := units(to)
	capacity, _ := full(to)
	if from.Algorithm == store.TokenBucket && to.Algorithm == store.TokenBucket {
		s.owed = ceil(s.owed.Mul(s.owed, after), before)
	} else {
		spent := s.used
		if from.Algorithm == store.TokenBucket {
			spent = min(ceil(s.owed, before).Int64(), from.Burst)
		}
		s.owed = times(after, spent)
		s.used, s.start = spent, s.at-s.at%int64(to.Rate.Period)
	}
	if s.owed.Cmp(capacity) > 0 {
		s.owed = capacity
	}
}

func ceil(a, b *big.Int) *big.Int {
	q, rem := new(big.Int).DivMod(a, b, new(big.Int))
	if rem.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// nanoseconds is how long units take, rounded up.
func nanoseconds(l *store.Limit, u *big.Int) time.Duration {
	nanosecond, _ := units(l)
	if ns := ceil(u, nanosecond); ns.IsInt64() {
		return time.Duration(ns.Int64())
	}
	return math.MaxInt64
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
	case s.limit.Algorithm == store.TokenBucket:
		_, token := units(s.limit)
		capacity, _ := full(s.limit)
		after := new(big.Int).Add(s.owed, times(token, cost))
		if over := new(big.Int).Sub(after, capacity); over.Sign() > 0 {
			g.RetryAfter = nanoseconds(s.limit, over)
		} else {
			s.owed, g.OK = after, true
		}
	default:
		left := max(0, s.limit.Burst-s.used)
		if g.OK = cost <= left; g.OK {
			s.used += cost
		} else {
			g.RetryAfter = time.Duration(s.start + int64(s.limit.Rate.Period) - now)
		}
	}
	return g
}

// figures are what a settled state tells beside the verdict.
func (s *state) figures(g *store.Grant, now int64) {
	switch {
	case s.limit.Kind == store.Slots:
		g.Remaining, g.ResetAfter = max(0, s.limit.Max-int64(len(s.holders))), 0
	case s.limit.Algorithm == store.TokenBucket:
		_, token := units(s.limit)
		capacity, _ := full(s.limit)
		left := new(big.Int).Sub(capacity, s.owed)
		g.Remaining = max(0, left.Div(left, token).Int64())
		g.ResetAfter = nanoseconds(s.limit, s.owed)
	default:
		g.Remaining, g.ResetAfter = max(0, s.limit.Burst-s.used), 0
		if s.used > 0 {
			g.ResetAfter = time.Duration(s.start + int64(s.limit.Rate.Period) - now)
		}
	}
}

// claim decides a batch, and returns what to remember of each claim.
func (m *model) claim(b *store.Batch) (grants []store.Grant, memos []memo) {
	grants = make([]store.Grant, len(b.Claims))
	for i := range b.Claims {
		s := m.at(b.Claims[i].Owner, b.Claims[i].Limit)
		s.settle(b.Now)
		s.change(b.Claims[i].Limit)
	}
	passed := m.try(b, store.Enforced, grants, true)
	m.try(b, store.Shadow, grants, passed)
	for i := range b.Claims {
		s := m.at(b.Claims[i].Owner, b.Claims[i].Limit)
		s.figures(&grants[i], b.Now)
		memos = append(memos, memo{new(big.Int).Set(s.owed), s.start})
	}
	return grants, memos
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
		s.owed.SetInt64(0)
		s.used = 0
	case r.Tokens < 0:
		if !s.owes() {
			s.change(r.Limit) // as if never used
		}
		s.charge(-max(r.Tokens, -math.MaxInt64))
	default:
		s.refund(r, then)
	}
}

// owes reports whether a settled state differs from one never used.
func (s *state) owes() bool {
	if s.limit.Algorithm == store.TokenBucket {
		return s.owed.Sign() > 0
	}
	return s.used > 0
}

func (s *state) charge(tokens int64) {
	if s.limit.Algorithm == store.FixedWindow {
		s.used += min(tokens, max(0, s.limit.Burst-s.used))
		return
	}
	_, token := units(s.limit)
	capacity, _ := full(s.limit)
	after := new(big.Int).Add(s.owed, times(token, tokens))
	if after.Cmp(capacity) > 0 {
		after = capacity
	}
	if after.Cmp(s.owed) > 0 {
		s.owed = after
	}
}

// refund gives back what has not refilled by itself since it was taken: under
// the limit that was charged that is counted in time, under another in whole
// tokens. Without a grant all that is owed may come back.
func (s *state) refund(r *store.Return, then memo) {
	switch {
	case r.AnyGrant:
		s.lower(r.Tokens, r.Now, s.owed)
	case r.Limit.Fingerprint == s.limit.Fingerprint:
		s.lower(r.Tokens, max(r.At, then.start), notRefilled(r, then))
	case r.Limit.Algorithm == store.TokenBucket:
		_, token := units(r.Limit)
		whole := new(big.Int).Div(notRefilled(r, then), token)
		s.lower(min(r.Tokens, whole.Int64()), r.At, s.owed)
	case r.Now-then.start < int64(r.Limit.Rate.Period):
		s.lower(r.Tokens, r.At, s.owed)
	}
}

// notRefilled is what a bucket would still owe, had nobody asked since.
func notRefilled(r *store.Return, then memo) *big.Int {
	nanosecond, _ := units(r.Limit)
	left := new(big.Int).Sub(then.owed, times(nanosecond, max(0, r.Now-r.At)))
	if left.Sign() < 0 {
		left.SetInt64(0)
	}
	return left
}

// lower takes tokens from what is owed, from a bucket no more than most, from a
// window if they were taken in it.
func (s *state) lower(tokens, taken int64, most *big.Int) {
	if s.limit.Algorithm == store.FixedWindow {
		if into := taken - s.start; into >= 0 && into < int64(s.limit.Rate.Period) {
			s.used -= min(s.used, tokens)
		}
		return
	}
	_, token := units(s.limit)
	back := times(token, tokens)
	if back.Cmp(most) > 0 {
		back = most
	}
	if s.owed = new(big.Int).Sub(s.owed, back); s.owed.Sign() < 0 {
		s.owed.SetInt64(0)
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
