package memstore

import (
	"testing"

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

func TestKeysAreSpread(t *testing.T) {
	h := newHasher(16)
	var shards [16]int
	prints := map[key]bool{}
	for n := range 16_000 {
		k := h.key(store.Key{Hi: 1, Lo: uint64(n)}, 5)
		shards[k.shard]++
		prints[k] = true
		if k.print == 0 || k.print>>48 != 0 {
			t.Fatalf("print %x", k.print)
		}
	}
	for i, n := range shards {
		if n < 800 || n > 1200 {
			t.Errorf("shard %d has %d of 16000 keys", i, n)
		}
	}
	if len(prints) != 16_000 {
		t.Errorf("%d different keys of 16000", len(prints))
	}
	if other := newHasher(16); other.key(store.Key{Lo: 1}, 5) == h.key(store.Key{Lo: 1}, 5) {
		t.Error("two stores hash alike")
	}
}
