package memstore

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// entry is the state of one limit of one owner. Its lock is the top bit of
// word: who sets it owns word and extra until it stores word without it. An
// entry of a table that was replaced stays locked for ever.
type entry struct {
	name  atomic.Uint64 // print<<16 | version of the limit, or empty, or vacated
	word  atomic.Uint64
	extra int64
}

const (
	locked  = 1 << 63
	empty   = 0 // never used: a search ends here
	vacated = 1 // forgotten: a search goes on
)

func nameOf(print uint64, version uint16) uint64 { return print<<16 | uint64(version) }

func printOf(name uint64) uint64 { return name >> 16 }

func (e *entry) tryLock() (word uint64, ok bool) {
	word = e.word.Load()
	return word, word&locked == 0 && e.word.CompareAndSwap(word, word|locked)
}

// insist tries a lock for a moment.
func (e *entry) insist() (word uint64, ok bool) {
	for range spins {
		if word, ok = e.tryLock(); ok {
			return word, true
		}
	}
	return 0, false
}

// lock waits for an entry of a table that cannot be replaced meanwhile.
func (e *entry) lock() (word uint64) {
	for {
		if word, ok := e.insist(); ok {
			return word
		}
		runtime.Gosched()
	}
}

// spins is how often a lock is tried before the processor is given to another
// goroutine: some hundred nanoseconds. A holder needs less unless it was
// interrupted, and to give the processor up costs more.
const spins = 256

// table is an open-addressing table with linear probing. Entries are found
// without a lock; the shard's mutex is held to enter one.
type table struct{ slots []entry }

// site is where an entry was found.
type site struct {
	shard *shard
	table *table
	entry *entry // nil if there is none
	slot  int
}

// lock waits for the entry of a site, and fails if it is not that of print any
// more: it was forgotten or has moved.
func (at *site) lock(print uint64) (word uint64, ok bool) {
	if word, ok = at.entry.tryLock(); !ok {
		if word, ok = at.shard.wait(at.table, at.entry); !ok {
			return 0, false
		}
	}
	if printOf(at.entry.name.Load()) == print {
		return word, true
	}
	at.entry.word.Store(word)
	return 0, false
}

// wait waits for the lock of an entry, and fails if its table was replaced.
func (sh *shard) wait(t *table, e *entry) (word uint64, ok bool) {
	for sh.table.Load() == t {
		if word, ok := e.insist(); ok {
			return word, true
		}
		runtime.Gosched()
	}
	return 0, false
}

// find is the slot of a print, or −1. A table without an empty slot ends the
// search when it has seen them all.
func (t *table) find(print uint64) int {
	slot := t.home(print)
	for range t.slots {
		name := t.slots[slot].name.Load()
		if printOf(name) == print {
			return slot
		}
		if name == empty {
			return -1
		}
		if slot++; slot == len(t.slots) {
			slot = 0
		}
	}
	return -1
}

// vacancy is the first slot in which a print that is not in the table can be
// entered, or −1.
func (t *table) vacancy(print uint64) int {
	slot := t.home(print)
	for range t.slots {
		if printOf(t.slots[slot].name.Load()) == 0 {
			return slot
		}
		if slot++; slot == len(t.slots) {
			slot = 0
		}
	}
	return -1
}

// home is where the search for a print begins.
func (t *table) home(print uint64) int {
	place, _ := bits.Mul64(print<<16, uint64(len(t.slots)))
	return int(place)
}
