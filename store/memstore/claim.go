package memstore

import (
	"fmt"

	"github.com/plimsoll-go/plimsoll/store"
)

// item is what a claim needs while its batch is decided. Claims on the same
// entry share the cells of the first of them, their lead.
type item struct {
	key     key
	at      site
	holder  uint32 // reserved for a slot, of the shard from
	second  uint32 // reserved for the slot that was held alone before
	from    *shard
	turn    int32 // which item is locked as the …th
	lead    int32
	shared  bool  // the entry is the overflow of its limit
	state   cell  // what is owed, with all that passed so far
	granted words // what is owed with what is granted so far
}

// spilled marks the handle of a grant that was taken from the overflow.
const spilled = 1 << 63

// decide answers a batch: find the entries, lock them in one order that all
// batches have, judge, write and unlock. Nobody sees a part of it, so that
// nobody is refused for the sake of a claim that is refused itself.
func (s *Store) decide(b *store.Batch, items []item) error {
	for attempt := 0; ; attempt++ {
		if err := s.open(b, items, attempt); err != nil {
			unreserve(items)
			return err
		}
		if s.lock(b, items) {
			break
		}
	}
	var granted [2]bool // by group
	granted[store.Enforced], granted[store.Shadow] = judgeAll(b, items)
	if !granted[store.Enforced] || !granted[store.Shadow] || len(items) > 1 && meet(items) {
		describe(b, items)
	}
	if b.Peek {
		unlock(items, len(items))
	} else {
		s.write(b, items, granted)
	}
	unreserve(items)
	return nil
}

// patience is how often a batch makes entries that are forgotten again before
// it can lock them, by others or for its own next claim, until it shares the
// overflow instead.
const patience = 8

// open finds or makes the entries of a batch, and reserves holders for slots.
func (s *Store) open(b *store.Batch, items []item, attempt int) (err error) {
	for i := range items {
		it, c := &items[i], &b.Claims[i]
		it.key, it.turn, it.lead, it.shared = s.hasher.key(c.Owner, c.Limit.ID), int32(i), int32(i), false
		switch {
		case s.locate(it.key, &it.at):
			err = s.known(it.at.entry, c.Limit)
		case b.Peek: // nothing is entered
		case len(items) > 1 || takes(c):
			bound := s.maxKeys
			if attempt >= patience {
				bound = 0
			}
			it.at, it.key, it.shared, err = s.enter(it.key, c.Limit, b.Now, bound)
		}
		if c.Limit.Kind == store.Slots && !b.Peek && err == nil {
			it.reserve(s.hasher.markOf(b.ID))
		}
		if err != nil {
			return fmt.Errorf("memstore: claim %s: %w", c.Limit.Name, err)
		}
	}
	if len(items) > 1 {
		order(items)
	}
	return nil
}

// takes reports whether a claim on a key that owes nothing changes it.
func takes(c *store.Claim) bool {
	return c.Limit.Kind == store.Slots || c.Cost > 0 && c.Cost <= c.Limit.Burst
}

// reserve takes a holder of the item's shard, and another if a slot is held
// alone there; what an earlier attempt took of another shard goes back.
func (it *item) reserve(mark uint64) {
	if it.from != it.at.shard {
		it.unreserve()
		it.from = it.at.shard
	}
	if it.holder == 0 {
		it.holder = it.from.reserve(mark)
	}
	if word := it.at.entry.word.Load(); it.second == 0 && word&alone != 0 {
		it.second = it.from.reserve(word &^ (alone | locked))
	}
}

func (it *item) unreserve() {
	for _, n := range []*uint32{&it.holder, &it.second} {
		if *n != 0 {
			it.from.holders.release(*n)
			*n = 0
		}
	}
}

// meet reports whether claims are about the same entry.
func meet(items []item) bool {
	for i := range items {
		if items[i].lead != int32(i) {
			return true
		}
	}
	return false
}

// known registers a limit if an entry is not written under it already.
func (s *Store) known(e *entry, l *store.Limit) error {
	if l.Kind == store.Slots {
		return nil
	}
	written := s.versions.view.Load().limits[uint16(e.name.Load())].Load()
	if written != nil && same(written, l) {
		return nil
	}
	return s.register(l)
}

func unreserve(items []item) {
	for i := range items {
		items[i].unreserve()
	}
}

// order sorts the turns of items by the place of their entries.
func order(items []item) {
	for i := 1; i < len(items); i++ {
		for j := i; j > 0 && items[items[j].turn].before(&items[items[j-1].turn]); j-- {
			items[j].turn, items[j-1].turn = items[j-1].turn, items[j].turn
		}
	}
}

func (it *item) before(o *item) bool {
	switch {
	case it.key.shard != o.key.shard:
		return it.key.shard < o.key.shard
	case it.at.slot != o.at.slot:
		return it.at.slot < o.at.slot
	}
	return it.key.print < o.key.print // neither is entered
}

// lock takes the locks of all entries and reads them; or of none, if an entry
// has moved or a limit has lost its number since they were opened.
func (s *Store) lock(b *store.Batch, items []item) bool {
	var last *item
	for n := range items {
		it := &items[items[n].turn]
		switch {
		case last != nil && last.key == it.key:
			it.lead = last.lead
			continue
		case last != nil && last.at.entry == it.at.entry && it.at.entry != nil: // one was forgotten for the other
			unlock(items, n)
			return false
		case it.at.entry != nil:
			word, ok := it.at.lock(it.key.print)
			if !ok {
				unlock(items, n)
				return false
			}
			it.state.word = word
		}
		last = it
	}
	v := s.versions.view.Load()
	for i := range items {
		if it := &items[i]; it.lead == int32(i) && !it.read(v, b, &b.Claims[i]) {
			unlock(items, len(items))
			return false
		}
	}
	return true
}

// unlock gives back the locks of the first n turns, the entries unchanged.
func unlock(items []item, n int) {
	for i := range n {
		if it := &items[items[i].turn]; it.leads(items[i].turn) {
			it.at.entry.word.Store(it.at.entry.word.Load() &^ locked)
		}
	}
}

// leads reports whether the item at an index has the lock of an entry.
func (it *item) leads(index int32) bool { return it.at.entry != nil && it.lead == index }

// read fills the cells of an item with what is owed now, under the limit of its
// claim. It fails if that limit has no number.
func (it *item) read(v *view, b *store.Batch, c *store.Claim) (ok bool) {
	e, state, now := it.at.entry, &it.state, b.Now
	state.limit, state.version, state.shard, state.print, state.pending = c.Limit, 0, it.at.shard, it.key.print, 0
	state.alone, state.held = 0, false
	switch {
	case e == nil:
		state.words = words{}
	case c.Limit.Kind == store.Slots:
		state.extra = e.extra
		state.unpack()
		if state.prune(now) {
			e.keep(it.key.print, state)
		}
		if state.alone != 0 && it.second == 0 && !b.Peek {
			return false // somebody is alone since the item was opened
		}
	default:
		state.extra, state.version = e.extra, uint16(e.name.Load())
		state.limit = v.limits[state.version].Load()
		state.age(now)
		ok := same(state.limit, c.Limit) || state.turn(v, c.Limit, now)
		if state.regional() || state.version != uint16(e.name.Load()) {
			e.keep(it.key.print, state)
		}
		if !ok {
			return false
		}
	}
	it.granted = state.words
	return true
}

// turn makes a state that of another limit, or holds it where that would forget
// what is spent. It fails if the limit has no number.
func (c *cell) turn(v *view, to *store.Limit, now int64) (ok bool) {
	if !c.fits(to, now) {
		c.hold(to)
		return true
	}
	number, ok := v.number(to)
	if ok {
		c.carry(to, number, now)
	}
	return ok
}

// judgeAll judges both groups: the shadow claims on top of the enforced ones, if
// those are granted.
func judgeAll(b *store.Batch, items []item) (enforced, shadow bool) {
	enforced, asked := judge(b, items, store.Enforced)
	conclude(items, enforced)
	if asked == len(items) {
		return enforced, true
	}
	shadow, _ = judge(b, items, store.Shadow)
	shadow = shadow && enforced
	conclude(items, shadow)
	return enforced, shadow
}

// judge asks for the claims of a group. It reports whether all pass, and how
// many there are.
func judge(b *store.Batch, items []item, g store.Group) (passed bool, asked int) {
	passed = true
	for i := range items {
		c := &b.Claims[i]
		if c.Group != g {
			continue
		}
		asked++
		cost := c.Cost
		if c.Limit.Kind == store.Slots {
			cost = 1
		}
		r := items[items[i].lead].state.take(b.Now, cost)
		b.Grants[i] = store.Grant{OK: r.OK, Remaining: r.Remaining, RetryAfter: r.RetryAfter, ResetAfter: r.ResetAfter, Delay: r.Delay}
		passed = passed && r.OK
	}
	return passed, asked
}

// conclude grants what passed, or undoes it.
func conclude(items []item, passed bool) {
	for i := range items {
		if it := &items[i]; passed {
			it.granted = it.state.words
		} else {
			it.state.words = it.granted
		}
	}
}

// describe tells in all grants what is left after the batch.
func describe(b *store.Batch, items []item) {
	for i := range items {
		state := items[items[i].lead].state
		r := state.take(b.Now, 0)
		b.Grants[i].Remaining, b.Grants[i].ResetAfter = r.Remaining, r.ResetAfter
	}
}

// write stores what is owed, and unlocks.
func (s *Store) write(b *store.Batch, items []item, granted [2]bool) {
	for i := range items {
		if it := &items[i]; it.state.pending != 0 && it.leads(int32(i)) {
			it.state.apply(b.Now)
		}
	}
	for i := range items {
		it, c, g := &items[i], &b.Claims[i], &b.Grants[i]
		state := &items[it.lead].state
		switch taken := g.OK && granted[c.Group]; {
		case !taken:
		case c.Limit.Kind == store.Slots:
			if second := &items[it.lead].second; state.alone != 0 {
				state.join(*second)
				*second = 0
			}
			state.link(it.holder, s.hasher.markOf(b.ID), leaseEnd(b.Now, c.Limit))
			g.Handle, it.holder = uint64(it.holder), 0
		default:
			g.Handle = state.handle(b.Now)
		}
		if it.shared {
			g.Handle |= spilled
			s.spilled.Add(1)
		}
	}
	for i := range items {
		if it := &items[i]; it.leads(int32(i)) {
			it.at.entry.write(it.key.print, &it.state)
		}
	}
}

// write stores a state in an entry, and unlocks it.
func (e *entry) write(print uint64, c *cell) {
	e.store(print, c, 0)
}

// keep stores a state in an entry, whose lock stays held.
func (e *entry) keep(print uint64, c *cell) {
	e.store(print, c, locked)
}

func (e *entry) store(print uint64, c *cell, lock uint64) {
	e.extra = c.extra
	if name := nameOf(print, c.version); e.name.Load() != name {
		e.name.Store(name)
	}
	e.word.Store(c.pack() | lock)
}
