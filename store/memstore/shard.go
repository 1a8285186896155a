package memstore

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// shard is one table of many. Its mutex is held to enter a key, to forget one,
// and to replace the table; whoever holds the lock of an entry must not wait
// for it.
type shard struct {
	table   atomic.Pointer[table] // nil until the first key
	holders holders
	regions regions
	mu      sync.Mutex
	used    int // slots that are not empty
	hand    int // where forget looks next
	_       [64]byte
}

const (
	leastSlots = 8
	// forgetLook is how many entries are looked at, for one to forget, before
	// a new key has to share the overflow.
	forgetLook = 512
	// keepFor is how long a key that is not used and owes nothing is kept while
	// there is room: to enter it again costs more than to find it, and a batch
	// that was stamped a little earlier may still have to meet it.
	keepFor = int64(time.Second)
)

// crowded reports whether a table with so many used slots makes searches long.
func (t *table) crowded(used int) bool { return t == nil || used > len(t.slots)/4*3 }

// roomFor is the length of a table for some keys: a quarter more than crowded.
func roomFor(keys int) int { return max(leastSlots, (keys*5/3+3)&^3) }

// locate finds the entry of a key.
func (s *Store) locate(k key, at *site) bool {
	at.shard, at.entry, at.slot = &s.shards[k.shard], nil, -1
	if at.table = at.shard.table.Load(); at.table == nil {
		return false
	}
	if at.slot = at.table.find(k.print); at.slot < 0 {
		return false
	}
	at.entry = &at.table.slots[at.slot]
	return true
}

// enter finds the entry of a key, or makes one; when that would be more keys
// than the bound, the entry that the keys of the limit share.
func (s *Store) enter(k key, l *store.Limit, now, bound int64) (at site, entered key, shared bool, err error) {
	at, err = s.insert(k, l, now, bound)
	if err != nil || at.entry != nil {
		return at, k, false, err
	}
	k = s.hasher.overflow(l.ID)
	at, err = s.insert(k, l, now, math.MaxInt64)
	return at, k, true, err
}

// insert finds or makes the entry of a key. The entry is nil if that would
// make more keys than the bound.
func (s *Store) insert(k key, l *store.Limit, now, bound int64) (site, error) {
	sh := &s.shards[k.shard]
	for {
		if err := s.register(l); err != nil {
			return site{}, err
		}
		sh.mu.Lock()
		version, ok := s.versions.view.Load().number(l)
		if ok {
			at := s.insertLocked(sh, nameOf(k.print, version), now, bound)
			sh.mu.Unlock()
			return at, nil
		}
		sh.mu.Unlock()
	}
}

func (s *Store) insertLocked(sh *shard, name uint64, now, bound int64) site {
	t := sh.table.Load()
	if t != nil {
		if slot := t.find(printOf(name)); slot >= 0 {
			return site{sh, t, &t.slots[slot], slot}
		}
	}
	if !s.room(sh, now, bound) {
		return site{}
	}
	if t.crowded(sh.used + 1) {
		t = s.rebuild(sh, now)
	}
	slot := t.vacancy(printOf(name))
	e := &t.slots[slot]
	if e.name.Load() == empty {
		sh.used++
	}
	e.lock()
	e.extra = s.begin(name, now)
	e.name.Store(name)
	e.word.Store(0)
	return site{sh, t, e, slot}
}

// room reports whether a shard may have another key, and counts it.
func (s *Store) room(sh *shard, now, bound int64) bool {
	if s.overflows(sh) {
		return true
	}
	if s.keys.Add(1) <= bound || bound > 0 && s.forget(sh, now) {
		return true
	}
	s.keys.Add(-1)
	return false
}

func (s *Store) overflows(sh *shard) bool { return sh == &s.shards[len(s.shards)-1] }

// drop counts a key that is forgotten.
func (s *Store) drop(sh *shard, e *entry) {
	e.name.Store(vacated)
	if !s.overflows(sh) {
		s.keys.Add(-1)
		s.forgotten.Add(1)
	}
}

// forget makes room for a key by dropping one that owes nothing. It looks at a
// bounded number of entries, each time at others.
func (s *Store) forget(sh *shard, now int64) bool {
	t := sh.table.Load()
	if t == nil {
		return false
	}
	for range min(forgetLook, len(t.slots)) {
		if sh.hand++; sh.hand >= len(t.slots) {
			sh.hand = 0
		}
		e := &t.slots[sh.hand]
		if printOf(e.name.Load()) == 0 {
			continue
		}
		word := e.lock()
		word, free := s.owesNothing(sh, e, word, now)
		if free {
			s.drop(sh, e)
		}
		e.word.Store(word)
		if free {
			return true
		}
	}
	return false
}

// rebuild replaces the table by one that is as large as the keys need, and
// forgets those that owe nothing and were not asked for lately. Decisions
// about the shard's keys wait until it is done, some microseconds a thousand
// keys.
func (s *Store) rebuild(sh *shard, now int64) *table {
	old := sh.table.Load()
	kept := 0
	if old != nil {
		kept = s.freeze(sh, old, now)
	}
	next := &table{slots: make([]entry, roomFor(kept+1))}
	if old != nil {
		old.moveTo(next)
	}
	sh.used = kept
	sh.hand = 0
	sh.table.Store(next)
	return next
}

// freeze locks the entries of a table for ever, and vacates those that owe
// nothing any more. It returns how many others there are.
func (s *Store) freeze(sh *shard, t *table, now int64) (kept int) {
	for i := range t.slots {
		e := &t.slots[i]
		if printOf(e.name.Load()) == 0 {
			continue
		}
		word, free := s.owesNothing(sh, e, e.lock(), now-keepFor)
		if free && now-s.lastUse(e, now) >= keepFor {
			s.drop(sh, e)
			continue
		}
		e.word.Store(word | locked)
		kept++
	}
	return kept
}

// begin is the extra of a key that is used for the first time.
func (s *Store) begin(name uint64, now int64) int64 {
	c := cell{limit: s.versions.view.Load().limits[uint16(name)].Load()}
	if c.limit == nil { // slots
		return now
	}
	c.begin(0, now)
	return c.extra
}

// owesNothing reports whether an entry, whose lock is held, can be forgotten.
// The word may have changed when it returns.
func (s *Store) owesNothing(sh *shard, e *entry, word uint64, now int64) (uint64, bool) {
	name := e.name.Load()
	c := cell{words: words{word: word, extra: e.extra}, limit: s.versions.view.Load().limits[uint16(name)].Load(), shard: sh, print: printOf(name)}
	if c.limit == nil {
		c.unpack()
		c.prune(now)
		e.extra = c.extra
		return c.pack(), c.word == 0
	}
	if c.regional() {
		if c.ended(now) {
			c.reset()
		}
		return c.word, c.word == 0
	}
	c.age(now)
	return word, c.word == 0
}

// lastUse is a moment since when a key that owes nothing was not used. The
// lock of its entry is held.
func (s *Store) lastUse(e *entry, now int64) int64 {
	c := cell{words: words{extra: e.extra}, limit: s.versions.view.Load().limits[uint16(e.name.Load())].Load()}
	if c.limit == nil {
		// A slot that was held alone leaves the end of its lease, which may be
		// far off: then it was used lately for all that is known.
		e.extra = min(e.extra, now)
		return e.extra
	}
	return c.lastUse()
}

func (t *table) moveTo(next *table) {
	for i := range t.slots {
		name := t.slots[i].name.Load()
		if printOf(name) == 0 {
			continue
		}
		e := &next.slots[next.vacancy(printOf(name))]
		e.name.Store(name)
		e.extra = t.slots[i].extra
		e.word.Store(t.slots[i].word.Load() &^ locked)
	}
}

// visit shows each entry, under its lock.
func (sh *shard) visit(show func(*entry)) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	t := sh.table.Load()
	if t == nil {
		return
	}
	for i := range t.slots {
		if e := &t.slots[i]; printOf(e.name.Load()) != 0 {
			word := e.lock()
			show(e)
			e.word.Store(word)
		}
	}
}
