package memstore

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// A table without an empty slot ends every search.
func TestFullTable(t *testing.T) {
	full := &table{slots: make([]entry, 16)}
	for i := range uint64(16) {
		full.slots[full.vacancy(i<<44+1)].name.Store(nameOf(i<<44+1, 1))
	}
	for i := range uint64(16) {
		slot := full.find(i<<44 + 1)
		if slot < 0 || printOf(full.slots[slot].name.Load()) != i<<44+1 {
			t.Errorf("print %d was entered and not found", i)
		}
	}
	if full.find(3<<44+2) >= 0 || full.vacancy(3<<44+2) >= 0 {
		t.Error("a full table has what it has not")
	}
	full.slots[full.find(5<<44+1)].name.Store(vacated)
	if full.find(5<<44+1) >= 0 || full.find(4<<44+1) < 0 || full.vacancy(9<<44+7) < 0 {
		t.Error("a vacated slot is not passed, or not used again")
	}
}

// Owners may be next to each other, as addresses are, and seeds may be any.
func TestKeysAreSpread(t *testing.T) {
	for range 200 {
		keysAreSpread(t, newHasher(16), 1)
		keysAreSpread(t, newHasher(16), 1<<32)
	}
	if a, b := newHasher(16), newHasher(16); a.key(store.Key{Lo: 1}, 5) == b.key(store.Key{Lo: 1}, 5) {
		t.Error("two stores hash alike")
	}
}

func keysAreSpread(t *testing.T, h hasher, apart uint64) {
	t.Helper()
	var shards [16]int
	prints := make(map[key]bool, 16_000)
	for n := range 16_000 {
		k := h.key(store.Key{Hi: 1, Lo: uint64(n) * apart}, 5)
		shards[k.shard]++
		prints[k] = true
		if k.print == 0 || k.print>>48 != 0 {
			t.Fatalf("print %x", k.print)
		}
	}
	for i, n := range shards {
		if n < 750 || n > 1250 {
			t.Errorf("shard %d has %d of 16000 keys, seed %x", i, n, h.seed)
		}
	}
	if len(prints) != 16_000 {
		t.Errorf("%d different keys of 16000", len(prints))
	}
}

// An entry that became another key's between search and lock is not taken.
func TestLockOfAnotherKey(t *testing.T) {
	s, l := open(t, Config{}), bucket(t, "rate", limit.Per(1, time.Second), 1)
	ask(t, s, begin, ownerOf(1), l)
	k := s.hasher.key(ownerOf(1), l.ID)
	var at site
	found := s.locate(k, &at)
	if _, ok := at.lock(k.print); !found || !ok {
		t.Fatal("the key's own entry")
	}
	word := at.entry.word.Load() &^ locked
	at.entry.word.Store(word)
	at.entry.name.Store(nameOf(k.print^1, 1))
	if _, ok := at.lock(k.print); ok || at.entry.word.Load() != word {
		t.Error("another key's entry was locked, or left locked")
	}
	at.shard.table.Store(&table{})
	at.entry.word.Store(word | locked)
	if _, ok := at.lock(k.print); ok {
		t.Error("the entry of a table that was replaced was locked")
	}
}

func TestHoldersAreUsedAgain(t *testing.T) {
	s, slot, never := open(t, Config{}), slots(t, 5, time.Minute), bucket(t, "rate", limit.Per(1, time.Hour), 1)
	ask(t, s, begin, ownerOf(1), never)
	for range 1000 {
		ask(t, s, begin, ownerOf(1), slot, never)                                  // refused: nothing is held
		giveBack(t, s, ask(t, s, begin, ownerOf(1), slot), 0, 0)                   // held and given back
		ask(t, s, begin+int64(serial.Load())*int64(time.Minute), ownerOf(1), slot) // held until its lease ends
		_ = s.Claim(context.Background(), &store.Batch{Now: begin, Peek: true, Claims: []store.Claim{{Owner: ownerOf(1), Limit: slot, Cost: 1}}, Grants: make([]store.Grant, 1)})
	}
	blocks := 0
	for i := range s.shards {
		if b := s.shards[i].holders.blocks.Load(); b != nil {
			blocks += len(*b)
		}
	}
	if blocks != 1 {
		t.Errorf("%d blocks of %d holders for one slot at a time", blocks, blockSize)
	}
}
