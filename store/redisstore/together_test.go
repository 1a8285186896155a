package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// leaving is a call for a batch, as it waits in the group.
func leaving(t *testing.T, s *Store, b *store.Batch) *call {
	t.Helper()
	j, err := s.encode(b)
	if err != nil {
		t.Fatal(err)
	}
	return &call{batch: *b, job: j, begun: time.Now(), done: make(chan struct{})}
}

// leave sends batches at once.
func leave(t *testing.T, s *Store, batches ...*store.Batch) []*call {
	t.Helper()
	calls := make([]*call, len(batches))
	for i, b := range batches {
		calls[i] = leaving(t, s, b)
	}
	s.commit(calls)
	for i, c := range calls {
		select {
		case <-c.done:
		default:
			t.Fatalf("call %d has no answer", i)
		}
	}
	return calls
}

// Claims that share a call are granted and told what each would be alone, and
// leave the same state: with other limits of an owner, with changed ones, and
// with a clock that goes back.
func TestSharedCallsDecideAsAlone(t *testing.T) {
	tw, random, limits := newTwin(t), rand.New(rand.NewPCG(5, 7)), leanLimits(t) //nolint:gosec // repeats
	steps := []time.Duration{0, time.Microsecond, 33_333 * time.Microsecond, 700 * time.Millisecond, 5 * time.Second, -time.Millisecond, -time.Minute}
	var granted, refused, handed int
	for round := range 400 {
		tw.watch.advance(steps[random.IntN(len(steps)-random.IntN(3))])
		tw.lean.apart.until.Clear() // or those like one that was handed over would go alone for a second
		var batches []*store.Batch
		for owner := range 2 + random.IntN(9) {
			b := requestOf(random, fmt.Sprint(round/40, "-", owner), limits, round%40)
			if len(b.Claims) > 1 && random.IntN(2) == 0 {
				b.Claims, b.Grants = b.Claims[:1], b.Grants[:1]
			}
			b.Now = tw.watch.read()
			batches = append(batches, b)
		}
		for i, c := range leave(t, tw.lean, batches...) {
			b := batches[i]
			if err := errors.Join(c.err, generally(tw.plain, b)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.batch.Grants, b.Grants) {
				t.Fatalf("round %d, %s: together %+v, alone %+v", round, describe(b), c.batch.Grants, b.Grants)
			}
			for i := range b.Claims {
				if one, two := tw.state(t, tw.lean, &b.Claims[i]), tw.state(t, tw.plain, &b.Claims[i]); one != two {
					t.Fatalf("round %d, %s: together leaves\n%q, alone\n%q", round, describe(b), one, two)
				}
			}
			if passed(b)[b.Claims[0].Group] {
				granted++
			} else {
				refused++
			}
		}
		if tw.lean.apart.has(limits[0].ID) {
			handed++
		}
	}
	if granted < 300 || refused < 300 || handed < 50 || handed > 350 {
		t.Errorf("%d granted, %d refused, in %d of 400 calls something was handed over: this says little", granted, refused, handed)
	}
}

// Those that go the same way share a call, and those that go the general one
// have their own; in a cluster all have.
func TestWhoSharesACall(t *testing.T) {
	s, l, held := open(t, start(t)), bucketOf(t, 5), slotsOf(t, 5)
	calls := []*call{
		leaving(t, s, batchOf("a", l)), leaving(t, s, batchOf("b", l, held)), leaving(t, s, batchOf("c", l)),
		leaving(t, s, batchOf("d", fixedOf(t))), leaving(t, s, batchOf("a", l)), leaving(t, s, batchOf("e", l, held)),
		leaving(t, s, batchOf("f", l, l)), leaving(t, s, batchOf("g", l, l)),
	}
	sizes := func() (n []int) {
		for _, e := range s.errands(calls) {
			n = append(n, len(e.calls))
		}
		return n
	}
	if got := sizes(); !slices.Equal(got, []int{3, 2, 1, 1, 1}) {
		t.Errorf("calls of %v", got)
	}
	s.apart.add(l.ID)
	if got := sizes(); !slices.Equal(got, []int{1, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("after one was handed over calls of %v", got)
	}
	s.apart.until.Store(l.ID, time.Now())
	if got := sizes(); !slices.Equal(got, []int{3, 2, 1, 1, 1}) {
		t.Errorf("a second later calls of %v", got)
	}
	s.cluster = true
	if got := sizes(); !slices.Equal(got, []int{1, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("in a cluster calls of %v", got)
	}
}

// One caller's claims that share a call are charged one after the other.
func TestOneCallerTwiceInASharedCall(t *testing.T) {
	s, l := open(t, start(t)), bucketOf(t, 3)
	granted := 0
	for _, c := range leave(t, s, batchOf("a", l), batchOf("b", l), batchOf("a", l), batchOf("a", l), batchOf("a", l)) {
		if c.err != nil {
			t.Fatal(c.err)
		}
		if c.batch.Grants[0].OK {
			granted++
		}
	}
	if left := leftTo(t, s, "a", l); granted != 4 || left != 0 {
		t.Errorf("%d of 5 granted with %d left, and there were 3 and 1", granted, left)
	}
}

// Data of another program under one key fails the call that is about it, and no
// other that shares one with it.
func TestASharedCallOnOtherData(t *testing.T) {
	srv := start(t)
	s, l, held := open(t, srv), bucketOf(t, 3), slotsOf(t, 3)
	for _, limits := range [][]*store.Limit{{l}, {l, held}, {held}, {l, fixedOf(t)}} {
		for _, of := range limits {
			key := s.keyOf(store.KeyOf("b"), of)
			for _, spoil := range [][]any{{"SET", key, "x"}, {"SET", key, strings.Repeat("x", 57)}, {"HSET", key, "field", "x"}} {
				srv.do(t, "FLUSHALL")
				srv.do(t, spoil...)
				s.apart.until.Clear()
				calls := leave(t, s, batchOf("a", limits...), batchOf("b", limits...), batchOf("c", limits...))
				if err := calls[1].err; !errors.Is(err, store.ErrKey) {
					t.Errorf("%v: error %v", spoil, err)
				}
				for _, i := range []int{0, 2} {
					if g := calls[i].batch.Grants[0]; calls[i].err != nil || !g.OK || g.Remaining != 2 {
						t.Errorf("%v: beside it %+v, error %v", spoil, g, calls[i].err)
					}
				}
			}
		}
	}
}

// Every key that a shared call makes ends, not before what it holds does, also
// where limits with different leases share one.
func TestKeysOfSharedCallsEnd(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 3)
	leases := []time.Duration{10 * time.Second, time.Hour, time.Minute, time.Hour, 10 * time.Second}
	for _, first := range []bool{true, false} {
		var batches []*store.Batch
		for i, lease := range leases {
			held, err := store.NewSlots("slots", 9, lease)
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, batchOf(fmt.Sprint("o", i), l, held))
		}
		for i, c := range leave(t, s, batches...) {
			if c.err != nil || !passed(&c.batch)[store.Enforced] {
				t.Fatalf("call %d: %+v, error %v", i, c.batch.Grants, c.err)
			}
			for _, claim := range c.batch.Claims {
				least := claim.Limit.Lease
				if claim.Limit.Kind == store.Tokens {
					least = c.batch.Grants[0].ResetAfter
				}
				ends := time.Duration(srv.do(t, "PTTL", s.keyOf(claim.Owner, claim.Limit)).(int64)) * time.Millisecond
				if ends < least-5*time.Second || ends > least+10*time.Second {
					t.Errorf("first %v, call %d: a key of %s ends in %v", first, i, claim.Limit.Name, ends)
				}
			}
		}
	}
}

// Slots that share a call are taken one after the other, each by its own id.
func TestSlotsOfOneCallerInASharedCall(t *testing.T) {
	s, l, held := open(t, start(t)), bucketOf(t, 9), slotsOf(t, 2)
	calls := leave(t, s, batchOf("a", l, held), batchOf("a", l, held), batchOf("a", l, held))
	var back []store.Return
	for i, c := range calls {
		if ok := passed(&c.batch)[store.Enforced]; c.err != nil || ok != (i < 2) {
			t.Errorf("call %d: %+v, error %v", i, c.batch.Grants, c.err)
		}
		back = append(back, c.granted()...)
	}
	if err := s.Return(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	if left := leftTo(t, s, "a", held); left != 2 {
		t.Errorf("%d slots left of 2 when all are given back", left)
	}
}

// A server that may not write fails all that share a call, and charges none.
func TestASharedCallThatMayNotWrite(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 3)
	srv.do(t, "CONFIG", "SET", "maxmemory", "1")
	held := slotsOf(t, 3)
	for i, c := range leave(t, s, batchOf("a", l), batchOf("b", l), batchOf("a", l, held), batchOf("b", l, held)) {
		if !errors.Is(c.err, store.ErrUnable) {
			t.Errorf("call %d: error %v", i, c.err)
		}
	}
	srv.do(t, "CONFIG", "SET", "maxmemory", "0")
	for _, owner := range []string{"a", "b"} {
		if left := leftTo(t, s, owner, l); left != 3 {
			t.Errorf("%s has %d left of 3", owner, left)
		}
	}
}

// What was granted in a shared call to one whose asker has left is given back.
func TestASharedCallForOneWhoLeft(t *testing.T) {
	s, l := open(t, start(t)), bucketOf(t, 3)
	gone, stays := leaving(t, s, batchOf("a", l)), leaving(t, s, batchOf("b", l))
	gone.fate.Store(left)
	s.commit([]*call{gone, stays})
	if g := stays.batch.Grants[0]; stays.err != nil || !g.OK {
		t.Errorf("who stayed: %+v, error %v", g, stays.err)
	}
	eventually(t, "the token is given back", func() bool { return leftTo(t, s, "a", l) == 3 })
	if left := leftTo(t, s, "b", l); left != 2 {
		t.Errorf("who stayed has %d left of 3", left)
	}
}
