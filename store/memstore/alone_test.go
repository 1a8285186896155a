package memstore

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// holding is a request that holds a slot.
type holding struct {
	s *Store
	l *store.Limit
	b store.Batch
}

func hold(t *testing.T, s *Store, l *store.Limit, id uint64, now int64) *holding {
	t.Helper()
	h := &holding{s, l, store.Batch{ID: store.ID{Hi: id, Lo: id}, Now: now, Claims: []store.Claim{{Owner: store.KeyOf("one"), Limit: l, Cost: 1}}, Grants: make([]store.Grant, 1)}}
	if err := s.Claim(context.Background(), &h.b); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *holding) back(t *testing.T, handle uint64, now int64) store.Return {
	t.Helper()
	return store.Return{ID: h.b.ID, Owner: h.b.Claims[0].Owner, Limit: h.l, Handle: handle, At: h.b.Now, Now: now}
}

func (h *holding) letGo(t *testing.T, handle uint64, now int64) {
	t.Helper()
	if err := h.s.Return(context.Background(), []store.Return{h.back(t, handle, now)}); err != nil {
		t.Fatal(err)
	}
}

// left is how many slots nobody holds.
func left(t *testing.T, s *Store, l *store.Limit, now int64) int64 {
	t.Helper()
	return leftTo(t, s, store.KeyOf("one"), l, now)
}

func leftTo(t *testing.T, s *Store, owner store.Key, l *store.Limit, now int64) int64 {
	t.Helper()
	b := store.Batch{Now: now, Peek: true, Claims: []store.Claim{{Owner: owner, Limit: l, Cost: 1}}, Grants: make([]store.Grant, 1)}
	if err := s.Claim(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	if !b.Grants[0].OK {
		return 0
	}
	return b.Grants[0].Remaining + 1
}

// A slot that is held alone, joined, left alone again, or renewed, is given
// back once, in whatever order those that hold end, with their number or without.
func TestSlotsThatAreHeldAlone(t *testing.T) {
	for _, told := range []bool{true, false} {
		for first := range 3 {
			for _, last := range []int{(first + 1) % 3, (first + 2) % 3} {
				s, l := open(t, Config{}), slots(t, 5, time.Minute)
				hold(t, s, l, 9, 1).letGo(t, 0, 2) // the entry is there now
				var held [3]*holding
				for i := range held {
					held[i] = hold(t, s, l, uint64(i+1), int64(10+i))
				}
				if n := left(t, s, l, 20); n != 2 {
					t.Fatalf("%d slots are left beside three that are held, want 2", n)
				}
				for i, who := range []int{first, last, 3 - first - last} {
					h := held[who]
					handle := h.b.Grants[0].Handle
					if !told {
						handle = 0
					}
					for range 2 {
						h.letGo(t, handle, int64(30+i))
						if n := left(t, s, l, 40); n != int64(3+i) {
							t.Fatalf("told %v: %d slots are left when %d of three have ended, %d first, want %d", told, n, i+1, first, 3+i)
						}
					}
				}
			}
		}
	}
}

func TestLeaseOfASlotHeldAlone(t *testing.T) {
	s, l := open(t, Config{}), slots(t, 2, time.Second)
	hold(t, s, l, 9, 1).letGo(t, 0, 2)
	one := hold(t, s, l, 1, 10)
	stranger := &holding{s, l, one.b}
	stranger.b.ID = store.ID{Hi: 7, Lo: 7}
	for _, handle := range []uint64{0, 1, one.b.Grants[0].Handle} {
		stranger.letGo(t, handle, 20)
		if n := left(t, s, l, 20); n != 1 {
			t.Fatalf("somebody else gives a slot back with %d: %d are left, want 1", handle, n)
		}
	}
	if err := s.Renew(context.Background(), []store.Return{one.back(t, one.b.Grants[0].Handle, 500)}); err != nil {
		t.Fatal(err)
	}
	end := 500 + int64(time.Second)
	if a, b := left(t, s, l, end-1), left(t, s, l, end); a != 1 || b != 2 {
		t.Fatalf("%d slots are left before a renewed lease ends, %d then; want 1, 2", a, b)
	}
	// Joined, each keeps the lease that it has.
	two := hold(t, s, l, 2, end)
	three := hold(t, s, l, 3, end+100)
	one.letGo(t, one.b.Grants[0].Handle, end+200) // ended long ago
	if a, b := left(t, s, l, end+200), left(t, s, l, end+int64(time.Second)); a != 0 || b != 1 {
		t.Fatalf("%d slots are left beside two, %d when the first lease ends; want 0, 1", a, b)
	}
	two.letGo(t, two.b.Grants[0].Handle, end+int64(time.Second)+1)
	three.letGo(t, three.b.Grants[0].Handle, end+int64(time.Second)+2)
	if n := left(t, s, l, end+int64(time.Second)+3); n != 2 {
		t.Fatalf("%d slots are left, want 2", n)
	}
}

// A joining that comes to nothing, because another claim of its batch does not
// pass, leaves the slot alone, and no holder taken.
func TestJoinIsUndone(t *testing.T) {
	s, l := open(t, Config{}), slots(t, 5, time.Minute)
	full, err := store.NewSlots("full", 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	hold(t, s, l, 9, 1).letGo(t, 0, 2)
	hold(t, s, full, 9, 1)
	one := hold(t, s, l, 1, 10)
	for range 3 * blockSize {
		b := store.Batch{ID: store.ID{Hi: 2, Lo: 2}, Now: 20, Grants: make([]store.Grant, 2), Claims: []store.Claim{
			{Owner: store.KeyOf("one"), Limit: l, Cost: 1}, {Owner: store.KeyOf("one"), Limit: full, Cost: 1},
		}}
		if err := s.Claim(context.Background(), &b); err != nil || b.Grants[1].OK {
			t.Fatalf("the full limit passed: %v", err)
		}
	}
	if n := left(t, s, l, 30); n != 4 {
		t.Fatalf("%d slots are left, want 4", n)
	}
	for i := range s.shards {
		if blocks := s.shards[i].holders.blocks.Load(); blocks != nil && len(*blocks) > 1 {
			t.Errorf("shard %d has %d blocks of holders for three", i, len(*blocks))
		}
	}
	one.letGo(t, one.b.Grants[0].Handle, 40)
	if n := left(t, s, l, 50); n != 5 {
		t.Fatalf("%d slots are left, want 5", n)
	}
}

// Whoever joins by the general way, here with a claim on a window, finds the
// slot that was held alone as it was.
func TestJoinByTheGeneralWay(t *testing.T) {
	s, l := open(t, Config{}), slots(t, 5, time.Minute)
	window, err := store.NewTokens("window", store.FixedWindow, limit.Per(100, time.Hour), 100)
	if err != nil {
		t.Fatal(err)
	}
	hold(t, s, l, 9, 1).letGo(t, 0, 2)
	one := hold(t, s, l, 1, 10)
	two := &holding{s, l, store.Batch{ID: store.ID{Hi: 2, Lo: 2}, Now: 20, Grants: make([]store.Grant, 2), Claims: []store.Claim{
		{Owner: store.KeyOf("one"), Limit: l, Cost: 1}, {Owner: store.KeyOf("one"), Limit: window, Cost: 1},
	}}}
	if err := s.Claim(context.Background(), &two.b); err != nil || !two.b.Grants[0].OK || !two.b.Grants[1].OK {
		t.Fatalf("%+v, %v", two.b.Grants, err)
	}
	for i, h := range []*holding{one, two} {
		if n := left(t, s, l, 30); n != int64(3+i) {
			t.Fatalf("%d slots are left before the end of request %d, want %d", n, i+1, 3+i)
		}
		h.letGo(t, h.b.Grants[0].Handle, 30)
	}
	if n := left(t, s, l, 40); n != 5 {
		t.Fatalf("%d slots are left, want 5", n)
	}
}

// A request holds the slots of two owners alone, and when its table has grown
// the second lies where the first did: each is given back for its owner.
func TestSlotsThatAreHeldAloneMove(t *testing.T) {
	l, never := slots(t, 5, time.Minute), bucket(t, "rate", limit.Per(1, time.Hour), 1)
	owners := [2]store.Key{store.KeyOf("one"), store.KeyOf("two")}
	for range 10_000 { // the seed says who lies where
		s := open(t, Config{MaxKeys: keysPerShard})
		b := holdBoth(t, s, l, owners)
		before := s.shards[0].table.Load()
		for n := 0; s.shards[0].table.Load() == before; n++ {
			ask(t, s, begin, ownerOf(n), never)
		}
		if !tookThePlace(s, l, b) {
			continue
		}
		for i, owner := range owners {
			r := []store.Return{{ID: b.ID, Owner: owner, Limit: l, Handle: b.Grants[i].Handle, At: b.Now, Now: begin}}
			if err := s.Return(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if one, two := leftTo(t, s, owners[0], l, begin), leftTo(t, s, owners[1], l, begin); one != 5 || two != int64(4+i) {
				t.Fatalf("%d and %d slots are left when %d of two are given back, want 5 and %d", one, two, i+1, 4+i)
			}
		}
		return
	}
	t.Error("in none of 10,000 tables did one entry come to lie where the other had")
}

// holdBoth has one request hold a slot of each owner, whose entries are there.
func holdBoth(t *testing.T, s *Store, l *store.Limit, owners [2]store.Key) *store.Batch {
	t.Helper()
	b := &store.Batch{ID: store.ID{Hi: 1, Lo: 1}, Now: begin, Grants: make([]store.Grant, 2)}
	for _, owner := range owners {
		giveBack(t, s, ask(t, s, begin, owner, l), 0, 0)
		b.Claims = append(b.Claims, store.Claim{Owner: owner, Limit: l, Cost: 1})
	}
	if err := s.Claim(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for i := range owners {
		if g := b.Grants[i]; !g.OK || uint32(g.Handle)&loner == 0 {
			t.Fatalf("slot %d is not held alone: %+v", i, g)
		}
	}
	return b
}

// tookThePlace reports whether the second claim's entry lies where the first
// one's lay, and their prints can be told apart by what a handle has of them.
func tookThePlace(s *Store, l *store.Limit, b *store.Batch) bool {
	first, second := s.hasher.key(b.Claims[0].Owner, l.ID).print, s.hasher.key(b.Claims[1].Owner, l.ID).print
	const told = 1<<(63-32-shardBits) - 1
	return s.shards[0].table.Load().find(second) == int(uint32(b.Grants[0].Handle)&^loner) && first&told != second&told
}
