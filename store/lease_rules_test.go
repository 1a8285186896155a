package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// hot runs a check in virtual time, with one worker that holds tokens of a
// quota, of which some are spent.
func hot(t *testing.T, check func(t *testing.T, s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{far: newFar(t, 1), o: store.KeyOf("o"), l: quota(t, 1e6)}
		s.worker = work(t, s.far, store.GuardConfig{})
		s.spent = s.heat(s.o, s.l)
		check(t, s)
		s.stop()
		s.sums()
	})
}

type scene struct {
	*worker
	far   *far
	o     store.Key
	l     *store.Limit
	spent int64
}

// held is what is in memory.
func (s *scene) held() int64 { return s.Leases().Held }

// quiet waits until no loan is under way.
func (s *scene) quiet() { synctest.Wait() }

func TestTokensOfARefusedBatchGoBackToTheBlock(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		slots, err := store.NewSlots("slots", 1, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		both := []store.Claim{{Owner: s.o, Limit: s.l, Cost: 3}, {Owner: s.o, Limit: slots, Cost: 1}}
		held := s.held()
		first := s.claim(both...)
		if !first.Grants[0].OK || !first.Grants[1].OK || s.held() != held-3 {
			t.Fatalf("tokens of memory and a slot of the store: %+v, %d held of %d", first.Grants, s.held(), held)
		}
		calls := s.far.calls()
		second := s.claim(both...)
		if second.Grants[1].OK || s.held() != held-3 {
			t.Errorf("beside a slot that is refused, %d tokens are held of %d", s.held(), held-3)
		}
		if !second.Grants[0].OK || s.far.calls() != calls+1 {
			t.Errorf("the claim that passed is told %+v, after %d calls", second.Grants[0], s.far.calls()-calls)
		}
		s.giveBack(first, 0, 3)
		if s.giveBack(first, 1, 0); s.held() != held {
			t.Errorf("given back to the block: %d held of %d", s.held(), held)
		}
	})
}

func TestTokensOfAFailedBatchGoBackToTheBlock(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		cold := quota(t, 10)
		held := s.held()
		s.far.fail(errFar)
		b := &store.Batch{Now: time.Now().UnixNano(), Grants: make([]store.Grant, 2), Claims: []store.Claim{
			{Owner: s.o, Limit: s.l, Cost: 1}, {Owner: store.KeyOf("cold"), Limit: cold, Cost: 1},
		}}
		if err := s.Claim(context.Background(), b); !errors.Is(err, errFar) || s.held() != held {
			t.Errorf("error %v, and %d held of %d", err, s.held(), held)
		}
		s.far.fail(nil)
	})
}

// Shadow claims are granted all or none, if the enforced ones pass, wherever
// their tokens are.
func TestShadowClaimsOfALease(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		one := tokens(t, store.FixedWindow, 1, 24*time.Hour)
		one, err := store.NewTokens("one", store.FixedWindow, one.Rate, 0)
		if err != nil {
			t.Fatal(err)
		}
		cold := store.KeyOf("cold")
		held := s.held()
		s.claim(store.Claim{Owner: s.o, Limit: s.l, Cost: 2, Group: store.Shadow}, store.Claim{Owner: cold, Limit: one, Cost: 1})
		if held -= 2; s.held() != held {
			t.Errorf("a shadow claim beside an enforced one that passes: %d held, want %d", s.held(), held)
		}
		s.claim(store.Claim{Owner: s.o, Limit: s.l, Cost: 2, Group: store.Shadow}, store.Claim{Owner: cold, Limit: one, Cost: 1})
		if s.held() != held {
			t.Errorf("beside an enforced one that is refused: %d held, want %d", s.held(), held)
		}
		b := s.claim(store.Claim{Owner: s.o, Limit: s.l, Cost: 2}, store.Claim{Owner: s.o, Limit: s.l, Cost: 3, Group: store.Shadow},
			store.Claim{Owner: cold, Limit: one, Cost: 1, Group: store.Shadow})
		if held -= 2; s.held() != held || !b.Grants[0].OK || !b.Grants[1].OK || b.Grants[2].OK {
			t.Errorf("beside a shadow claim that is refused: %d held, want %d; %+v", s.held(), held, b.Grants)
		}
	})
}

func TestPeekTakesNothingOfALease(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		held := s.held()
		b := &store.Batch{Peek: true, Now: time.Now().UnixNano(), Grants: make([]store.Grant, 1),
			Claims: []store.Claim{{Owner: s.o, Limit: s.l, Cost: 0}}}
		if err := s.Claim(context.Background(), b); err != nil || b.Grants[0].Remaining != 1e6-s.spent || s.held() != held {
			t.Errorf("error %v; %d remain, want %d; %d held of %d", err, b.Grants[0].Remaining, int64(1e6)-s.spent, s.held(), held)
		}
		b.Claims[0].Cost = 1e6 - s.spent // more than the store has without what is held
		if err := s.Claim(context.Background(), b); err != nil || b.Grants[0].OK {
			t.Errorf("error %v; what no place has is granted", err)
		}
	})
}

// What remains is never more than there is, and never less than what is held.
func TestRemainingOfALease(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		for range 300 {
			g := s.take(s.o, s.l, 1)
			s.spent++
			most := s.far.left(t, s.o, s.l) + s.held()
			if g.Remaining < s.held() || g.Remaining > most {
				t.Fatalf("%d remain, %d are held, and there are %d", g.Remaining, s.held(), most)
			}
			<-time.After(time.Millisecond)
		}
	})
}

func TestACostLargerThanTheBlockIsAskedOfTheStore(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		held, calls := s.held(), s.far.calls()
		if g := s.take(s.o, s.l, 1e5); !g.OK || s.held() < held || s.far.calls() == calls {
			t.Errorf("%+v, %d held of %d", g, s.held(), held)
		}
		if g := s.take(s.o, s.l, 1e6); g.OK {
			t.Error("more than is left is granted")
		}
		if _, denied := s.Denied(s.o, s.l, 1, time.Now().UnixNano()); denied {
			t.Error("because much is refused, a token that is held is denied")
		}
	})
}

func TestAChargeIsTakenFromTheBlock(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		b := s.claim(store.Claim{Owner: s.o, Limit: s.l, Cost: 1})
		s.spent++
		held := s.held()
		s.giveBack(b, 0, -5)
		if s.spent += 5; s.held() != held-5 {
			t.Errorf("%d held, want %d", s.held(), held-5)
		}
		s.giveBack(b, 0, -1000)
		s.spent += 1000
		s.quiet()
		<-time.After(10 * time.Millisecond)
		if all := s.far.left(t, s.o, s.l) + s.held(); all != 1e6-s.spent {
			t.Errorf("%d are left in all, want %d", all, int64(1e6)-s.spent)
		}
	})
}

func TestAResetVoidsTheBlock(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		s.Return(context.Background(), []store.Return{{Owner: s.o, Limit: s.l, Reset: true, Now: time.Now().UnixNano()}})
		if s.held() != 0 {
			t.Errorf("%d held after a reset", s.held())
		}
		<-time.After(10 * time.Millisecond)
		if left := s.far.left(t, s.o, s.l); left != 1e6 {
			t.Errorf("the store has %d", left)
		}
		if s.sums().Void == 0 {
			t.Error("nothing is void")
		}
	})
}

func TestAChangedLimitReturnsTheBlock(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		lower := quota(t, 5e5)
		if !s.take(s.o, lower, 1).OK || s.held() != 0 {
			t.Errorf("%d held under a limit that has changed", s.held())
		}
		<-time.After(10 * time.Millisecond)
		if left := s.far.left(t, s.o, lower); left != 5e5-s.spent-1 {
			t.Errorf("%d left of the new limit, want %d", left, int64(5e5)-s.spent-1)
		}
	})
}

// A key that goes cold gives back what it holds, within its lease.
func TestAColdKeyGivesBack(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		<-time.After(store.DefaultLease + 100*time.Millisecond)
		if s.held() != 0 || s.far.left(t, s.o, s.l) != 1e6-s.spent {
			t.Errorf("%d held, %d left of %d", s.held(), s.far.left(t, s.o, s.l), int64(1e6)-s.spent)
		}
		<-time.After(time.Second)
		if s.Leases().Keys != 0 {
			t.Error("the key is leased still")
		}
		calls := s.far.calls()
		for range 20 {
			s.take(s.o, s.l, 1)
			s.spent++
			<-time.After(50 * time.Millisecond)
		}
		if n := s.far.calls() - calls; n != 20 {
			t.Errorf("20 claims on a cold key made %d calls", n)
		}
	})
}

// A block is spent though the store is down, until its lease ends.
func TestALeaseOutlivesTheStore(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		s.far.fail(errFar)
		begun, held := time.Now(), s.held()
		granted := int64(0)
		for time.Since(begun) < 2*time.Second {
			b := &store.Batch{Now: time.Now().UnixNano(), Grants: make([]store.Grant, 1), Claims: []store.Claim{{Owner: s.o, Limit: s.l, Cost: 1}}}
			if s.Claim(context.Background(), b) == nil {
				if granted++; time.Since(begun) > store.DefaultLease {
					t.Fatalf("granted %s after the store was lost", time.Since(begun))
				}
			}
			<-time.After(time.Millisecond)
		}
		if s.spent += granted; granted < held {
			t.Errorf("of %d held, %d were granted while the store was down", held, granted)
		}
		s.far.fail(nil)
		<-time.After(3 * time.Second)
		s.spent += s.heat(s.o, s.l)
		s.sums()
	})
}

// Who sets the clock back finds no block that lasts for ever.
func TestALeaseAndAClockSetBack(t *testing.T) {
	hot(t, func(t *testing.T, s *scene) {
		hour := int64(time.Hour)
		for _, now := range []int64{time.Now().UnixNano() - hour, time.Now().UnixNano() + hour} {
			b := &store.Batch{Now: now, Grants: make([]store.Grant, 1), Claims: []store.Claim{{Owner: s.o, Limit: s.l, Cost: 1}}}
			if err := s.Claim(context.Background(), b); err != nil || !b.Grants[0].OK || b.Grants[0].Handle>>63 != 0 {
				t.Errorf("an hour off: error %v, %+v", err, b.Grants[0])
			}
		}
	})
}

// A block of a window is nothing in the next one.
func TestALeaseEndsWithItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, l := newFar(t, 1), store.KeyOf("o"), tokens(t, store.FixedWindow, 4000, time.Second)
		w := work(t, f, store.GuardConfig{})
		perWindow := map[int64]int{}
		<-time.After(600*time.Millisecond - time.Duration(time.Now().UnixNano()%int64(time.Second)))
		for range 8_000 { // the last part of a window, so that tokens are held at its end, and more
			if w.take(o, l, 1).OK {
				perWindow[time.Now().Unix()]++
			}
			<-time.After(200 * time.Microsecond)
		}
		for second, n := range perWindow {
			if n > 4000 {
				t.Errorf("%d of 4000 in second %d", n, second)
			}
		}
		if s := w.Leases(); s.Spent < 4000 {
			t.Errorf("%+v", s)
		}
		w.stop()
		w.sums()
	})
}

// At the bound the key that has gone longest without a loan makes room, and
// returns what it holds.
func TestLeasedKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := newFar(t, 1), quota(t, 1e6)
		w := work(t, f, store.GuardConfig{Leases: store.LeaseConfig{Keys: 2}})
		spent := map[store.Key]int64{}
		for i := range 600 {
			for _, name := range []string{"a", "b", "c", "d"}[:2+i/200] {
				if o := store.KeyOf(name); w.take(o, l, 1).OK {
					spent[o]++
				}
			}
			if n := w.Leases().Keys; n > 2 {
				t.Fatalf("%d keys are leased", n)
			}
			<-time.After(time.Millisecond)
		}
		if w.sums(); w.Leases().Evicted == 0 {
			t.Error("no key made room")
		}
		w.stop()
		for o, n := range spent {
			if left := f.left(t, o, l); left != 1e6-n {
				t.Errorf("%d left of %d", left, 1e6-n)
			}
		}
	})
}

// Limits whose promise a block would break, and those too low for one, are
// asked for call by call.
func TestWhatIsNotLeased(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *store.Limit{
		"strict window": func(t *testing.T) *store.Limit { return tokens(t, store.StrictWindow, 1e6, time.Minute) },
		"sliding log":   func(t *testing.T) *store.Limit { return tokens(t, store.SlidingLog, limit.MostLogged, time.Minute) },
		"low":           func(t *testing.T) *store.Limit { return tokens(t, store.TokenBucket, 23, time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, o := newFar(t, 3), store.KeyOf("o")
				w, l := work(t, f, store.GuardConfig{}), make(t)
				for range 1000 {
					w.take(o, l, 1)
					<-time.After(time.Millisecond)
				}
				if s := w.Leases(); s != (store.LeaseStats{}) || f.calls() != 1000 {
					t.Errorf("%+v", s)
				}
				w.stop()
			})
		})
	}
}

func TestLeasesOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, l := newFar(t, 1), store.KeyOf("o"), quota(t, 1e6)
		w := work(t, f, store.GuardConfig{Leases: store.LeaseConfig{Off: true}})
		for range 500 {
			w.take(o, l, 1)
			<-time.After(time.Millisecond)
		}
		if s := w.Leases(); s != (store.LeaseStats{}) || f.calls() != 500 {
			t.Errorf("%+v after %d calls", s, f.calls())
		}
		w.stop()
	})
}

func TestLeaseConfigIsChecked(t *testing.T) {
	bad := store.GuardConfig{Leases: store.LeaseConfig{HotAt: 1, Ahead: time.Hour, Lease: time.Millisecond, Keys: -1}}
	err := bad.Validate()
	const want = `store: lease hot_at must be 50 … 1000000, got 1
store: lease ahead must be 10ms … 1s, got 1h0m0s
store: lease must be 50ms … 10s, got 1ms
store: leased keys must be 1 … 65536, got -1`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if good := (store.GuardConfig{}); good.Validate() != nil {
		t.Error(good.Validate())
	}
}
