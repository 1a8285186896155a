package memstore

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// At the bound, who owes is remembered, and the others share what is left.
func TestAtTheBoundNobodyWhoOwesIsForgotten(t *testing.T) {
	const keys = 200
	s, l := open(t, Config{MaxKeys: keys}), bucket(t, "rate", limit.Per(1, time.Minute), 2)
	for n := range keys {
		ask(t, s, begin, ownerOf(n), l)
	}
	shared := 0
	for n := range 1000 {
		if ask(t, s, begin, ownerOf(keys+n), l).Grants[0].OK {
			shared++
		}
	}
	if st := s.Stats(); shared != 2 || st.Spilled != 1000 || st.Keys != keys {
		t.Errorf("%d of those without room were granted, want one burst of 2; %+v", shared, st)
	}
	for n := range keys {
		if g := ask(t, s, begin, ownerOf(n), l).Grants[0]; !g.OK || g.Remaining != 0 {
			t.Fatalf("owner %d took 1 of 2 before, and now: %+v", n, g)
		}
	}
}

func TestAtTheBoundWhoOwesNothingIsReplaced(t *testing.T) {
	const keys = 200
	s, l := open(t, Config{MaxKeys: keys}), bucket(t, "rate", limit.Per(1, time.Minute), 2)
	for n := range keys {
		ask(t, s, begin+int64(n), ownerOf(n), l)
	}
	for n := range keys { // the first owes nothing after a minute, the second a nanosecond later, …
		now := begin + int64(time.Minute) + int64(n)
		if g := ask(t, s, now, ownerOf(keys+n), l).Grants[0]; !g.OK || g.Remaining != 1 {
			t.Fatalf("new owner %d: %+v, want a bucket of its own", n, g)
		}
	}
	if st := s.Stats(); st.Spilled != 0 || st.Keys != keys || st.Forgotten != keys {
		t.Errorf("%+v", st)
	}
}

func TestAtTheBoundHoldersAreNotForgotten(t *testing.T) {
	const keys = 64
	s, slot, rate := open(t, Config{MaxKeys: keys}), slots(t, 1, time.Minute), bucket(t, "rate", limit.Per(1, time.Second), 1)
	var held []*store.Batch
	for n := range keys {
		held = append(held, ask(t, s, begin, ownerOf(n), slot))
	}
	for n := range 500 {
		ask(t, s, begin, ownerOf(n+1000), rate)
	}
	for n := range keys {
		if ask(t, s, begin, ownerOf(n), slot).Grants[0].OK {
			t.Fatalf("owner %d holds its only slot, and got another", n)
		}
	}
	giveBack(t, s, held[7], 0, 0)
	if b := ask(t, s, begin, ownerOf(2000), slot); !b.Grants[0].OK || b.Grants[0].Handle&spilled != 0 {
		t.Errorf("a key has become free, and a new one got %+v", b.Grants[0])
	}
	now := begin + int64(time.Minute) // all leases have ended
	for n := range keys / 2 {
		if g := ask(t, s, now, ownerOf(3000+n), slot).Grants[0]; !g.OK || g.Handle&spilled != 0 {
			t.Fatalf("owner %d after the leases: %+v", n, g)
		}
	}
}

func TestSharedStateIsGivenBack(t *testing.T) {
	s, rate, slot := open(t, Config{MaxKeys: 1}), bucket(t, "rate", limit.Per(1, time.Hour), 3), slots(t, 2, time.Minute)
	ask(t, s, begin, ownerOf(0), rate)
	b := ask(t, s, begin, ownerOf(1), rate, slot)
	c := ask(t, s, begin, ownerOf(2), rate, slot)
	if !b.Grants[0].OK || !c.Grants[1].OK || c.Grants[0].Remaining != 1 || c.Grants[1].Remaining != 0 {
		t.Fatalf("two owners without room share: %+v %+v", b.Grants, c.Grants)
	}
	if ask(t, s, begin, ownerOf(3), slot).Grants[0].OK {
		t.Error("a third of two shared slots was granted")
	}
	giveBack(t, s, b, 0, 1)
	giveBack(t, s, b, 1, 0)
	giveBack(t, s, b, 1, 0)
	d := ask(t, s, begin, ownerOf(3), rate, slot)
	if !d.Grants[0].OK || d.Grants[0].Remaining != 1 || d.Grants[1].Remaining != 0 {
		t.Errorf("after one gave back: %+v", d.Grants)
	}
	giveBack(t, s, c, 0, -5)
	if g := ask(t, s, begin, ownerOf(4), rate).Grants[0]; g.OK {
		t.Errorf("the shared state was charged, and has %+v", g)
	}
}

// A batch with more new keys than there may be comes to an end.
func TestBatchLargerThanTheBound(t *testing.T) {
	for _, keys := range []int{1, 2, 5, 30} {
		s, l := open(t, Config{MaxKeys: keys}), bucket(t, "rate", limit.Per(1, time.Hour), 100)
		b := &store.Batch{Now: begin, Grants: make([]store.Grant, 60)}
		for n := range 60 {
			b.Claims = append(b.Claims, store.Claim{Owner: ownerOf(n), Limit: l, Cost: 1})
		}
		if err := s.Claim(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		for i := range b.Grants {
			if !b.Grants[i].OK {
				t.Fatalf("%d keys, claim %d: %+v", keys, i, b.Grants[i])
			}
		}
		if got := s.Stats().Keys; got > int64(keys) {
			t.Errorf("%d keys, at most %d", got, keys)
		}
	}
}

// Many owners, few places, everything at once: what is held stays bounded, all
// comes back, and nobody hangs.
func TestCrowd(t *testing.T) {
	const goroutines, owners, most = 16, 40, 3
	for _, keys := range []int{1, 7, 60, 5000} {
		s, slot, rate := open(t, Config{MaxKeys: keys}), slots(t, most, time.Hour), bucket(t, "rate", limit.Per(1e6, time.Second), 5)
		var held [owners]atomic.Int64
		var now atomic.Int64
		now.Store(begin)
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 7))
				for range 400 {
					n := r.IntN(owners)
					b := ask(t, s, now.Add(int64(r.IntN(1000))), ownerOf(n), rate, slot)
					if !b.Grants[0].OK || !b.Grants[1].OK {
						continue
					}
					if b.Grants[1].Handle&spilled == 0 && held[n].Add(1) > most {
						t.Errorf("owner %d holds more than %d", n, most)
					}
					ask(t, s, now.Load(), ownerOf(owners+r.IntN(100)), rate)
					if b.Grants[1].Handle&spilled == 0 {
						held[n].Add(-1)
					}
					giveBack(t, s, b, 1, 0)
					giveBack(t, s, b, 0, 1)
				}
			})
		}
		wg.Wait()
		later := now.Load() + int64(time.Second)
		for n := range owners {
			if g := ask(t, s, later, ownerOf(n), slot).Grants[0]; keys >= 60 && (!g.OK || g.Remaining != most-1) {
				t.Fatalf("%d keys: owner %d gave everything back and has %+v", keys, n, g)
			}
		}
	}
}
