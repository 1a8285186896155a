package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// A refund gives back what was spent, and nothing when it comes again.
func TestARefundTwice(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		<-time.After(20 * time.Millisecond)
		held := s.held()
		b := s.claim(store.Claim{Owner: s.o, Limit: s.l, Cost: held})
		if s.held() != 0 {
			t.Fatalf("%d held of %d", s.held(), held)
		}
		s.quiet() // no loan comes meanwhile: time stands still
		for range 3 {
			s.giveBack(b, 0, held)
		}
		if s.held() != held {
			t.Errorf("%d held after refunds, want %d", s.held(), held)
		}
	})
}

// What a worker holds never exceeds its part of the burst, nor its rate for the
// time ahead by much.
func TestAWorkerHoldsItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o := newFar(t, 2), store.KeyOf("o")
		l, err := store.NewTokens("hot", store.TokenBucket, limit.Per(1e5, time.Second), 1000)
		if err != nil {
			t.Fatal(err)
		}
		w := work(t, f, store.GuardConfig{})
		for range 10_000 {
			w.take(o, l, 1)
			if held := w.Leases().Held; held > 250 {
				t.Fatalf("%d held of a burst of 1000 by one of two workers", held)
			}
			<-time.After(100 * time.Microsecond)
		}
		if w.Leases().Spent == 0 {
			t.Error("nothing was spent of leases")
		}
		w.stop()
	})
}

// What was asked for before a reset is worth nothing after it.
func TestALoanOverAReset(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		lends := s.Leases().Calls
		for s.Leases().Calls == lends { // spend until a loan is asked for
			s.take(s.o, s.l, 1)
			if s.due() {
				break
			}
			<-time.After(time.Millisecond)
		}
		s.Return(context.Background(), []store.Return{{Owner: s.o, Limit: s.l, Reset: true, Now: time.Now().UnixNano()}})
		void := s.Leases().Void
		<-time.After(10 * time.Millisecond)
		if st := s.sums(); st.Held != 0 || st.Void <= void {
			t.Errorf("after a reset: %+v", st)
		}
	})
}

// due reports whether a loan is on its way.
func (s *scene) due() bool {
	synctest.Wait()
	s.far.mu.Lock()
	defer s.far.mu.Unlock()
	return s.far.asked > s.far.lends
}

// Of a bucket, a block comes back once, in however many parts: what has
// refilled since it was lent does not.
func TestPartsOfABlockRefillOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := store.NewTokens("hot", store.TokenBucket, limit.Per(20, time.Second), 4000)
		if err != nil {
			t.Fatal(err)
		}
		f, o := newFar(t, 1), store.KeyOf("o")
		w := work(t, f, store.GuardConfig{Leases: store.LeaseConfig{Ahead: time.Second, Lease: 10 * time.Second}})
		var spent []*store.Batch
		plain := int64(0) // claims before the loan
		for len(spent) < 400 {
			if b := w.claim(store.Claim{Owner: o, Limit: l, Cost: 1}); b.Grants[0].Handle>>63 == 1 {
				spent = append(spent, b)
			} else {
				plain++
			}
			<-time.After(time.Millisecond)
		}
		<-time.After(12 * time.Second) // the block is too old, and 240 tokens have refilled
		w.take(o, l, f.left(t, o, l))  // all is owed, by somebody else
		for _, b := range spent {
			w.giveBack(b, 0, 1)
		}
		<-time.After(10 * time.Millisecond)
		if left := f.left(t, o, l); left > 400-240+plain+1 {
			t.Errorf("of 400 tokens %d came back, though 240 had refilled", left)
		}
		w.stop()
	})
}

// A key whose limit is used up asks for a loan now and then, not each time.
func TestAnExhaustedKeyAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, l := newFar(t, 1), store.KeyOf("o"), quota(t, 300)
		w := work(t, f, store.GuardConfig{})
		for range 2000 {
			w.take(o, l, 1)
			<-time.After(time.Millisecond)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.lends > 60 {
			t.Errorf("%d loans asked for in two seconds", f.lends)
		}
		if f.left(t, o, l) != 0 {
			t.Errorf("%d left", f.left(t, o, l))
		}
		w.stop()
	})
}

// Tokens that waited for a store that was down have refilled meanwhile.
func TestReturnsAgeInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, l := newFar(t, 1), store.KeyOf("o"), tokens(t, store.TokenBucket, 10, 100*time.Second)
		w := work(t, f, store.GuardConfig{})
		b := w.claim(store.Claim{Owner: o, Limit: l, Cost: 10})
		f.fail(errFar)
		for w.State() != store.Down {
			_ = w.Claim(context.Background(), &store.Batch{Now: time.Now().UnixNano(), Claims: b.Claims, Grants: make([]store.Grant, 1)})
			<-time.After(time.Millisecond)
		}
		w.giveBack(b, 0, 10)
		<-time.After(200 * time.Second)
		f.fail(nil)
		if g, err := store.ClaimOne(context.Background(), f, store.Claim{Owner: o, Limit: l, Cost: 10}, 0); err != nil || !g.OK {
			t.Fatalf("%+v, %v", g, err)
		}
		for w.State() != store.OK {
			<-time.After(10 * time.Millisecond)
		}
		if w.Stats().Queued > 0 {
			t.Error("the return waits still")
		}
		w.stop()
		if left := f.left(t, o, l); left > 0 {
			t.Errorf("%d tokens came back that had refilled", left)
		}
	})
}

// What is too little for a cost is kept for smaller ones, and goes back when
// its block makes room.
func TestFragmentsGoBack(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		for range 1000 {
			s.take(s.o, s.l, 7)
			s.spent += 7
			s.sums()
			<-time.After(time.Millisecond)
		}
		<-time.After(2 * time.Second)
		if left := s.far.left(t, s.o, s.l); left != 1e6-s.spent {
			t.Errorf("%d left, want %d", left, int64(1e6)-s.spent)
		}
	})
}

// The store has nothing left and says so to a large cost; what is held here is
// not denied for that.
func TestARefusalHidesNoBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, l := newFar(t, 1), store.KeyOf("o"), tokens(t, store.TokenBucket, 10_000, 24*time.Hour)
		w := work(t, f, store.GuardConfig{})
		w.heat(o, l)
		all := store.Claim{Owner: o, Limit: l, Cost: f.left(t, o, l)}
		if g, err := store.ClaimOne(context.Background(), f, all, 0); err != nil || !g.OK {
			t.Fatalf("%+v, %v", g, err)
		}
		held := w.Leases().Held
		if w.take(o, l, held+1).OK {
			t.Fatal("more than is held is granted of an empty store")
		}
		if _, denied := w.Denied(o, l, 1, time.Now().UnixNano()); denied || !w.take(o, l, 1).OK {
			t.Errorf("%d are held, and one is denied", held)
		}
		w.stop()
		w.sums()
	})
}

// The clock of requests is any distance from the wall clock, and may be set.
func TestLeasesGoByTheClockOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, l := newFar(t, 1), store.KeyOf("o"), quota(t, 1e6)
		w := work(t, f, store.GuardConfig{})
		spent := int64(0)
		for _, skew := range []time.Duration{time.Hour, -time.Hour, 0} {
			calls := f.calls()
			for range 1000 {
				b := &store.Batch{Now: time.Now().Add(skew).UnixNano(), Grants: make([]store.Grant, 1), Claims: []store.Claim{{Owner: o, Limit: l, Cost: 1}}}
				if err := w.Claim(context.Background(), b); err != nil || !b.Grants[0].OK {
					t.Fatalf("%+v, %v", b.Grants, err)
				}
				spent++
				<-time.After(time.Millisecond)
			}
			if n := f.calls() - calls; n > 150 {
				t.Errorf("with a clock %s off, a thousand decisions took %d calls", skew, n)
			}
		}
		w.stop()
		if left := f.left(t, o, l); left != 1e6-spent {
			t.Errorf("%d left, want %d: %+v", left, int64(1e6)-spent, w.sums())
		}
	})
}

// What a worker holds is held back from the others, no more of it and no longer
// than its lease.
func TestWhatAWorkerHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 10_000
		fl := newFleet(t, quota(t, all), 2, 1)
		idle, busy := fl.workers[0], fl.workers[1]
		spent := idle.heat(fl.o, fl.l)
		held, begun := idle.Leases().Held, time.Now()
		if g := busy.take(fl.o, fl.l, all-spent-held); !g.OK {
			t.Fatalf("%d are spent, %d held, and the rest is refused: %+v", spent, held, g)
		}
		for !busy.take(fl.o, fl.l, held).OK {
			if time.Since(begun) > store.DefaultLease+100*time.Millisecond {
				t.Fatalf("%d are held back after %s", held, time.Since(begun))
			}
			<-time.After(time.Millisecond)
		}
		if busy.take(fl.o, fl.l, 1).OK {
			t.Error("one too many")
		}
		fl.end()
	})
}
