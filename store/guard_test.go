package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

var (
	someTokens = mustTokens("tokens", 10)
	someSlots  = mustSlots("slots", 10)
)

func mustTokens(name string, n int64) *Limit {
	l, err := NewTokens(name, TokenBucket, limit.Per(n, time.Second), 0)
	if err != nil {
		panic(err)
	}
	return l
}

func mustSlots(name string, n int64) *Limit {
	l, err := NewSlots(name, n, 10*time.Second)
	if err != nil {
		panic(err)
	}
	return l
}

// both claims tokens and a slot of one owner.
func both() *Batch {
	owner := KeyOf("owner")
	return &Batch{
		ID: ID{1, rand.Uint64()}, Now: time.Now().UnixNano(),
		Claims: []Claim{{Owner: owner, Limit: someTokens, Cost: 1}, {Owner: owner, Limit: someSlots, Cost: 1}},
		Grants: make([]Grant, 2),
	}
}

func returnsOf(b *Batch) (back []Return) {
	for i, c := range b.Claims {
		back = append(back, Return{ID: b.ID, Owner: c.Owner, Limit: c.Limit, Handle: b.Grants[i].Handle, At: b.Now, Now: time.Now().UnixNano(), Tokens: c.Cost})
	}
	return back
}

// guarded runs a guard around a driver.
func guarded(t *testing.T, d Driver, c GuardConfig) (g *Guard, stop func()) {
	t.Helper()
	g = NewGuard(d, c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	synctest.Wait()
	return g, func() {
		t.Helper()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	}
}

// traffic asks at a rate, open loop, and tells how long each waited.
type traffic struct {
	g     *Guard
	every time.Duration

	mu             sync.Mutex
	asked, granted int
	waited         []time.Duration // of those that waited at all
	goroutines     int             // at most
	group          sync.WaitGroup
}

// run asks for so long, and waits for all answers. Who is granted gives both
// back after 5ms.
func (tr *traffic) run(for_ time.Duration) {
	end := time.Now().Add(for_)
	for time.Now().Before(end) {
		tr.group.Go(tr.one)
		<-time.After(tr.every)
	}
	tr.group.Wait()
}

func (tr *traffic) one() {
	b, begun := both(), time.Now()
	err := tr.g.Claim(context.Background(), b)
	took := time.Since(begun)
	tr.mu.Lock()
	tr.asked++
	if took > 0 {
		tr.waited = append(tr.waited, took)
	}
	if err == nil {
		tr.granted++
	}
	tr.goroutines = max(tr.goroutines, runtime.NumGoroutine())
	tr.mu.Unlock()
	if err == nil {
		<-time.After(5 * time.Millisecond)
		tr.g.Return(context.Background(), returnsOf(b))
	}
}

func (tr *traffic) reset() { tr.asked, tr.granted, tr.waited = 0, 0, nil }

// TestAnOutage breaks a store in each way under load, and mends it.
func TestAnOutage(t *testing.T) {
	for _, how := range []fault{hangs, expires, slow, errs, errsLate, panics} {
		t.Run(how.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { outage(t, how) })
		})
	}
}

func outage(t *testing.T, how fault) {
	d := newFaulty()
	var states []State
	g, stop := guarded(t, d, GuardConfig{OnState: func(s State, err error) {
		if (s == OK) != (err == nil) {
			t.Errorf("%s because of %v", s, err)
		}
		states = append(states, s)
	}})
	tr := &traffic{g: g, every: time.Millisecond}
	before := runtime.NumGoroutine()
	tr.run(2 * time.Second)
	if tr.granted != tr.asked || len(tr.waited) > 0 || g.State() != OK {
		t.Errorf("while all is well %d of %d are granted, %d waited, %s", tr.granted, tr.asked, len(tr.waited), g.State())
	}

	tr.reset()
	d.breakBy(how)
	tr.run(10 * time.Second)
	if n := len(tr.waited); n > 40 {
		t.Errorf("%d of %d waited", n, tr.asked)
	}
	if len(tr.waited) > 0 && slices.Max(tr.waited) > DefaultBudget {
		t.Errorf("somebody waited %v", slices.Max(tr.waited))
	}
	if g.State() != Down {
		t.Errorf("the store is %s", g.State())
	}
	if n := tr.goroutines - before; n > DefaultMaxInFlight+20 {
		t.Errorf("%d goroutines more", n)
	}

	d.breakBy(works)
	for patience := time.Now().Add(time.Second); g.State() == Down && time.Now().Before(patience); {
		<-time.After(time.Millisecond)
	}
	tr.reset()
	tr.run(100 * time.Millisecond)
	if tr.granted == 0 || tr.granted > tr.asked*2/3 || g.State() != Degraded {
		t.Errorf("soon after it works, %d of %d are granted, %s", tr.granted, tr.asked, g.State())
	}
	<-time.After(time.Second)
	tr.reset()
	tr.run(time.Second)
	if tr.granted != tr.asked || g.State() != OK {
		t.Errorf("two seconds after it works, %d of %d are granted, %s", tr.granted, tr.asked, g.State())
	}
	<-time.After(time.Second)
	settled(t, d, g)
	stop()
	if want := []State{Down, Degraded, OK}; !slices.Equal(states, want) && !slices.Equal(states[1:], want) {
		t.Errorf("the states were %v", states)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines at the end, %d before", n, before)
	}
}

// settled checks that nobody holds anything, and that nothing came back twice.
func settled(t *testing.T, d *faulty, g *Guard) {
	t.Helper()
	s := g.Stats()
	if n := d.holds(Slots); n != 0 && d.fault != errsLate {
		// An error after the work is done is the driver's own to clear up.
		t.Logf("%+v", s)
	}
	if len(d.twice) > 0 {
		t.Errorf("%d charges were returned twice", len(d.twice))
	}
	if s.Queued != 0 || s.UnderWay != 0 || s.Dropped != 0 {
		t.Errorf("left over: %+v", s)
	}
}

func TestSlotsOfThoseWhoLeftComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		defer stop()
		tr := &traffic{g: g, every: time.Millisecond}
		tr.run(time.Second)
		d.breakBy(hangs)
		tr.run(time.Second)
		if n := g.Stats().UnderWay; n < 20 {
			t.Fatalf("%d calls hang", n)
		}
		d.breakBy(works) // and the calls that hang are done
		<-time.After(time.Second)
		if slots, tokens, s := d.holds(Slots), d.holds(Tokens), g.Stats(); slots != 0 || s.Reclaimed < 40 || tokens > int(s.Lost) {
			t.Errorf("%d slots and %d charges are held: %+v", slots, tokens, s)
		}
		settled(t, d, g)
	})
}

func TestAFlappingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		tr := &traffic{g: g, every: time.Millisecond}
		before := runtime.NumGoroutine()
		for i := range 40 {
			d.breakBy([]fault{works, hangs, works, errs, works, slow}[i%6])
			tr.run(500 * time.Millisecond)
		}
		d.breakBy(works)
		if slices.Max(tr.waited) > DefaultBudget || len(tr.waited) > 40*40 {
			t.Errorf("%d of %d waited, up to %v", len(tr.waited), tr.asked, slices.Max(tr.waited))
		}
		if n := tr.goroutines - before; n > DefaultMaxInFlight+20 {
			t.Errorf("%d goroutines more", n)
		}
		<-time.After(3 * time.Second)
		if g.State() != OK || d.holds(Slots) != 0 {
			t.Errorf("in the end %s, %d slots held", g.State(), d.holds(Slots))
		}
		settled(t, d, g)
		stop()
	})
}

// TestALonelyOutage has too few calls to judge by.
func TestALonelyOutage(t *testing.T) {
	for _, how := range []fault{hangs, expires} {
		t.Run(how.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFaulty()
				g, stop := guarded(t, d, GuardConfig{})
				d.breakBy(how)
				tr := &traffic{g: g, every: 200 * time.Millisecond}
				tr.run(20 * time.Second)
				if len(tr.waited) > 5 || g.State() != Down {
					t.Errorf("%d of %d waited, %s", len(tr.waited), tr.asked, g.State())
				}
				d.breakBy(works)
				<-time.After(2 * time.Second)
				if g.State() != OK {
					t.Errorf("two seconds later it is %s", g.State())
				}
				stop()
			})
		})
	}
}

func TestErrorsOfOneKeyAreNotTheStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		defer stop()
		d.breakBy(keyErrs)
		for range 1000 {
			if err := g.Claim(t.Context(), both()); !errors.Is(err, ErrKey) {
				t.Fatalf("got %v", err)
			}
		}
		if g.State() != OK || g.Stats().Failed != 0 {
			t.Errorf("%s, %+v", g.State(), g.Stats())
		}
	})
}

func TestAFewFailuresOpenNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		defer stop()
		for i := range 10_000 { // every third fails
			d.breakBy([]fault{works, works, errs}[i%3])
			g.Claim(t.Context(), both()) //nolint:errcheck // counted by the guard
			d.breakBy(works)
			<-time.After(time.Millisecond)
			if i == 100 && g.State() != Degraded {
				t.Errorf("a third of the calls fail, and the store is %s", g.State())
			}
			if g.State() == Down {
				t.Fatalf("down after %d calls", i)
			}
		}
		<-time.After(2 * time.Second)
		if s := g.Stats(); g.State() != OK || s.Failed != 3333 {
			t.Errorf("%s, %+v", g.State(), s)
		}
	})
}

func TestWhoLeavesHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		defer stop()
		d.breakBy(slow)
		for _, peek := range []bool{false, true} {
			b := both()
			b.Peek = peek
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			begun := time.Now()
			err := g.Claim(ctx, b)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnavailable) || time.Since(begun) != time.Millisecond {
				t.Errorf("left with %v after %v", err, time.Since(begun))
			}
			clear(b.Claims) // the request is in use again
			<-time.After(time.Second)
		}
		if s := g.Stats(); d.holds(Slots) != 0 || d.holds(Tokens) != 0 || s.Reclaimed != 2 || s.Late != 0 || len(d.twice) > 0 {
			t.Errorf("%d slots, %d charges held, %+v, twice %v", d.holds(Slots), d.holds(Tokens), s, d.twice)
		}
		if g.State() != OK {
			t.Errorf("the store is %s", g.State())
		}
	})
}

func TestALateRefusalIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		d.refuse = func(c *Claim) bool { return c.Limit == someTokens }
		g, stop := guarded(t, d, GuardConfig{})
		defer stop()
		d.breakBy(slow)
		if err := g.Claim(t.Context(), both()); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		<-time.After(time.Second)
		if s := g.Stats(); s.Reclaimed != 0 || s.Late != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestGroupsOfALateAnswer(t *testing.T) {
	for _, c := range []struct{ enforced, shadow, wantEnforced, wantShadow bool }{
		{true, true, true, true}, {true, false, true, false}, {false, true, false, false}, {false, false, false, false},
	} {
		b := Batch{
			Claims: []Claim{{Group: Enforced}, {Group: Shadow}},
			Grants: []Grant{{OK: c.enforced}, {OK: c.shadow}},
		}
		if b.granted(0) != c.wantEnforced || b.granted(1) != c.wantShadow {
			t.Errorf("%+v: granted %v, %v", c, b.granted(0), b.granted(1))
		}
	}
}

func TestCallsUnderWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{MaxInFlight: 4})
		defer stop()
		d.breakBy(hangs)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { g.Claim(context.Background(), both()) }) //nolint:errcheck // it hangs
		}
		synctest.Wait()
		begun := time.Now()
		if err := g.Claim(t.Context(), both()); !errors.Is(err, ErrUnavailable) || time.Since(begun) != 0 {
			t.Errorf("the fifth call: %v after %v", err, time.Since(begun))
		}
		if s := g.Stats(); s.Crowded != 1 || s.UnderWay != 4 {
			t.Errorf("%+v", s)
		}
		group.Wait()
		d.breakBy(works)
	})
}

func TestThisProcessWasHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stop := guarded(t, newFaulty(), GuardConfig{})
		defer stop()
		<-time.After(time.Second)
		for range 100 {
			g.remote.tooLate(g.remote.clock() - int64(100*time.Millisecond))
		}
		if g.State() != OK || g.Stats().Late != 100 {
			t.Errorf("%s, %+v", g.State(), g.Stats())
		}
		for range 100 {
			g.remote.tooLate(g.remote.clock() - int64(DefaultBudget))
		}
		if g.State() != Down {
			t.Errorf("in its own time: %s", g.State())
		}
	})
}

// TestACallThatIsOutForLong: probes do not see it.
func TestACallThatIsOutForLong(t *testing.T) {
	for _, c := range []struct {
		name  string
		stuck int // the first so many claims hang
		opens bool
	}{{"every call", 1000, true}, {"one of many", 1, false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFaulty()
				d.stuck = func(b *Batch) bool {
					c.stuck--
					return b.Claims[0].Owner != canary.Owner && c.stuck >= 0
				}
				opened := false
				g, stop := guarded(t, d, GuardConfig{OnState: func(s State, _ error) { opened = opened || s == Down }})
				tr := &traffic{g: g, every: 30 * time.Millisecond}
				tr.run(200 * time.Millisecond)
				synctest.Wait()
				if opened != c.opens {
					t.Errorf("opened: %v, the store is %s", opened, g.State())
				}
				d.breakBy(works)
				synctest.Wait()
				stop()
			})
		})
	}
}

func TestNothingIsLostOnAStoreThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		b := both()
		if err := g.Claim(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		d.breakBy(errs)
		tr := &traffic{g: g, every: time.Millisecond}
		tr.run(time.Second)
		g.Return(t.Context(), returnsOf(b))
		<-time.After(5 * time.Second)
		// Of a call that failed it is not known whether it was granted a slot.
		if s := g.Stats(); s.State != Down || s.Queued != 2+int(s.Failed) {
			t.Errorf("%+v", s)
		}
		d.breakBy(works)
		<-time.After(time.Second)
		if s := g.Stats(); s.Lost != 0 || d.holds(Tokens) != 0 || d.holds(Slots) != 0 {
			t.Errorf("%+v, %d charges and %d slots held", s, d.holds(Tokens), d.holds(Slots))
		}
		stop()
	})
}

func TestReturnsWaitForTheStore(t *testing.T) {
	for _, how := range []fault{hangs, errs} {
		t.Run(how.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFaulty()
				g, stop := guarded(t, d, GuardConfig{})
				var in []*Batch
				for range 100 {
					b := both()
					if err := g.Claim(t.Context(), b); err != nil {
						t.Fatal(err)
					}
					in = append(in, b)
				}
				d.breakBy(how)
				begun := time.Now()
				for _, b := range in {
					g.Return(t.Context(), returnsOf(b))
				}
				if time.Since(begun) != 0 {
					t.Errorf("to give back took %v", time.Since(begun))
				}
				<-time.After(5 * time.Second)
				d.breakBy(works)
				<-time.After(time.Second)
				s := g.Stats()
				if d.holds(Slots) != 0 || d.holds(Tokens) > int(s.Lost) || len(d.twice) > 0 {
					t.Errorf("%d slots, %d charges held, twice %d, %+v", d.holds(Slots), d.holds(Tokens), len(d.twice), s)
				}
				if s.Queued != 0 || s.Dropped != 0 || s.Lost > 256 {
					t.Errorf("%+v", s)
				}
				stop()
			})
		})
	}
}

func TestSlotsAreGivenUpWhenTheirLeaseEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		b := both()
		if err := g.Claim(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		d.breakBy(errs)
		g.Return(t.Context(), returnsOf(b))
		<-time.After(someSlots.Lease/2 + returnRetry/2) // between two tries
		synctest.Wait()
		if s := g.Stats(); s.Queued != 1 || s.Lost != 1 {
			t.Errorf("before: %+v", s)
		}
		<-time.After(someSlots.Lease)
		if s := g.Stats(); s.Queued != 0 {
			t.Errorf("after: %+v", s)
		}
		stop()
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{Queue: 10})
		d.breakBy(hangs)
		b := both()
		g.Return(t.Context(), returnsOf(b))
		synctest.Wait() // those are on their way
		for range 20 {
			g.Return(t.Context(), returnsOf(both()))
		}
		if s := g.Stats(); s.Queued != 10 || s.Dropped != 30 {
			t.Errorf("%+v", s)
		}
		d.breakBy(works)
		stop()
	})
}

func TestTheEndSendsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		first, second := both(), both()
		for _, b := range []*Batch{first, second} {
			if err := g.Claim(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		d.breakBy(errs)
		g.Return(t.Context(), returnsOf(first))
		synctest.Wait() // it waits for another try
		d.breakBy(slow)
		stop()
		if n := d.holds(Slots); n != 1 {
			t.Errorf("%d slots are held at the end of Run", n)
		}
		d.breakBy(works)
		g.Return(t.Context(), returnsOf(second)) // after Run
		if n := d.holds(Slots); n != 0 {
			t.Errorf("%d slots are held after the last return", n)
		}
	})
}

func TestWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g := NewGuard(d, GuardConfig{})
		d.breakBy(hangs)
		for range 60 {
			begun := time.Now()
			if err := g.Claim(t.Context(), both()); !errors.Is(err, ErrUnavailable) || time.Since(begun) > DefaultBudget {
				t.Fatalf("%v after %v", err, time.Since(begun))
			}
		}
		if g.State() != OK {
			t.Errorf("%s, and nobody would see it work again", g.State())
		}
		d.breakBy(works)
		synctest.Wait()
		if err := g.Claim(t.Context(), both()); err != nil {
			t.Error(err)
		}
		if s := g.Stats(); s.Reclaimed != 120 || d.holds(Slots) != 1 {
			t.Errorf("%+v, %d slots held", s, d.holds(Slots))
		}
	})
}

func TestBackgroundCallsAreLeftAlone(t *testing.T) {
	for _, how := range []fault{hangs, panics, errs} {
		t.Run(how.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFaulty()
				g, stop := guarded(t, d, GuardConfig{})
				d.breakBy(how)
				for range 10 {
					begun := time.Now()
					if err := g.Renew(t.Context(), returnsOf(both())); err == nil || time.Since(begun) > returnWait {
						t.Errorf("renew: %v after %v", err, time.Since(begun))
					}
					begun = time.Now()
					if _, err := g.Sync(t.Context(), Report{}); err == nil || time.Since(begun) > DefaultBeat {
						t.Errorf("sync: %v after %v", err, time.Since(begun))
					}
				}
				if r, s := d.background(); how == hangs && (r != 2 || s != 2) {
					t.Errorf("%d renewals and %d heartbeats hang", r, s)
				}
				d.breakBy(works)
				synctest.Wait()
				if err := g.Renew(t.Context(), nil); err != nil {
					t.Error(err)
				}
				if _, err := g.Sync(t.Context(), Report{}); err != nil {
					t.Error(err)
				}
				stop()
			})
		})
	}
}

func TestASlowListenerStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		release := make(chan struct{})
		var states []State
		g, stop := guarded(t, d, GuardConfig{OnState: func(s State, _ error) {
			<-release
			states = append(states, s)
		}})
		for range 3 {
			d.breakBy(errs)
			tr := &traffic{g: g, every: time.Millisecond}
			tr.run(time.Second)
			d.breakBy(works)
			<-time.After(2 * time.Second)
			if g.State() != OK {
				t.Fatalf("the store is %s", g.State())
			}
		}
		close(release)
		synctest.Wait()
		if want := slices.Repeat([]State{Down, Degraded, OK}, 3); !slices.Equal(states, want) {
			t.Errorf("heard %v", states)
		}
		stop()
	})
}

// TestInThisProcess: a driver that is called directly.
func TestInThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, embedded{d}, GuardConfig{})
		defer stop()
		b := both()
		if err := g.Claim(t.Context(), b); err != nil || !b.Grants[1].OK {
			t.Fatalf("%v, %+v", err, b.Grants)
		}
		g.Return(t.Context(), returnsOf(b))
		if d.holds(Slots) != 0 || len(d.batches) != 1 || g.Remote() {
			t.Errorf("%d slots held, returns %v, remote %v", d.holds(Slots), d.batches, g.Remote())
		}
		d.breakBy(errs)
		for range 100 {
			if err := g.Claim(t.Context(), b); !errors.Is(err, errFaulty) {
				t.Fatal(err)
			}
		}
		if err := g.Renew(t.Context(), nil); err == nil {
			t.Error("renewed")
		}
		if _, err := g.Sync(t.Context(), Report{}); err == nil {
			t.Error("synced")
		}
		if g.State() != OK || g.Stats() != (Stats{}) {
			t.Errorf("%s, %+v", g.State(), g.Stats())
		}
	})
}

func TestWhichRefusalsAreRemembered(t *testing.T) {
	owner := KeyOf("a")
	claim := func(l *Limit, g Group) Claim { return Claim{Owner: owner, Limit: l, Cost: 1, Group: g} }
	other := mustTokens("other", 5)
	for _, c := range []struct {
		name   string
		claims []Claim
		refuse []*Limit
		denied []bool
	}{
		{"refused", []Claim{claim(someTokens, Enforced), claim(other, Enforced)}, []*Limit{someTokens}, []bool{true, false}},
		{"the second of two on one state", []Claim{claim(other, Enforced), claim(someTokens, Enforced), claim(someTokens, Enforced)}, nil, []bool{false, false, false}},
		{"a shadow refusal", []Claim{claim(other, Enforced), claim(someTokens, Shadow)}, []*Limit{someTokens}, []bool{false, true}},
		{"a shadow claim that may not have been judged", []Claim{claim(other, Enforced), claim(someTokens, Shadow)}, []*Limit{someTokens, other}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, n := newFaulty(), 0
			d.refuse = func(c2 *Claim) bool {
				n++
				return slices.Contains(c.refuse, c2.Limit) || c.refuse == nil && n == 3
			}
			g := NewGuard(embedded{d}, GuardConfig{})
			b := &Batch{Now: 1, Claims: c.claims, Grants: make([]Grant, len(c.claims))}
			if err := g.Claim(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.denied {
				if _, got := g.Denied(owner, c.claims[i].Limit, 1, 1); got != want {
					t.Errorf("claim %d is denied: %v", i, got)
				}
			}
		})
	}
}

func TestSharesOfTheLocalStore(t *testing.T) {
	d, local := newFaulty(), newFaulty()
	g := NewGuard(embedded{d}, GuardConfig{Local: embedded{local}})
	share := func() int64 {
		b := both()
		if err := g.ClaimLocal(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		g.ReturnLocal(t.Context(), returnsOf(b))
		if local.holds(Slots) != 0 {
			t.Error("the local slot did not come back")
		}
		return b.Claims[1].Limit.Max
	}
	for _, c := range []struct {
		view View
		want int64
	}{
		{View{}, 10}, {View{Live: 1}, 10}, {View{Live: 5, Stale: 5}, 2}, {View{Live: 2, Stale: 3, LowTrust: true}, 2},
		{View{Live: 1, Learning: true}, 2}, {View{Live: 1}, 10}, {View{Live: 10, Learning: true}, 1},
	} {
		d.view = c.view
		if _, err := g.Sync(t.Context(), Report{}); err != nil {
			t.Fatal(err)
		}
		if got := share(); got != c.want {
			t.Errorf("%+v: a share of %d, want %d", c.view, got, c.want)
		}
	}
	if a, b := g.sharesOf(10).of(someSlots), g.sharesOf(10).of(someSlots); a != b {
		t.Error("a share is prepared again and again")
	}
	none := NewGuard(d, GuardConfig{})
	if err := none.ClaimLocal(t.Context(), both()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without a local store: %v", err)
	}
	none.ReturnLocal(t.Context(), nil)
}

func TestGuardSettings(t *testing.T) {
	c := GuardConfig{Budget: time.Minute, MaxInFlight: -1, Queue: 1 << 30}
	err := c.Validate()
	for _, want := range []string{"budget must be 100µs … 1s, got 1m0s", "max_in_flight", "queue"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
	g := NewGuard(newFaulty(), c)
	if got := g.config; got.Budget != time.Second || got.MaxInFlight != 1 || got.Queue != 1<<20 {
		t.Errorf("taken as %+v", got)
	}
	if err := new(GuardConfig).Validate(); err != nil {
		t.Error(err)
	}
	for s, want := range map[State]string{OK: "ok", Degraded: "degraded", Down: "down", 9: "unknown"} {
		if s.String() != want {
			t.Errorf("%d is %q", s, s)
		}
	}
}

// nothing is a driver that costs nothing.
type nothing struct{}

func (nothing) Claim(_ context.Context, b *Batch) error {
	for i := range b.Grants {
		b.Grants[i] = Grant{OK: true}
	}
	return nil
}
func (nothing) Return(context.Context, []Return) error     { return nil }
func (nothing) Renew(context.Context, []Return) error      { return nil }
func (nothing) Sync(context.Context, Report) (View, error) { return View{}, nil }

type nothingHere struct{ nothing }

func (nothingHere) InProcess() {}

func running(tb testing.TB, d Driver) *Guard {
	g := NewGuard(d, GuardConfig{Budget: time.Second, Local: d})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Run(ctx) }()
	tb.Cleanup(func() { cancel(); <-done })
	for g.remote != nil && !g.remote.running.Load() {
		runtime.Gosched()
	}
	return g
}

func TestAClaimAllocatesNothing(t *testing.T) {
	for name, d := range map[string]Driver{"remote": nothing{}, "here": nothingHere{}} {
		g := running(t, d)
		g.workers.Store(3)
		b := both()
		ctx := context.Background()
		claim := func() { _ = g.Claim(ctx, b) }
		claim()
		if n := testing.AllocsPerRun(1000, claim); n != 0 {
			t.Errorf("%s: a claim allocates %v times", name, n)
		}
		local := func() { b.Claims[0].Limit = someTokens; b.Claims[1].Limit = someSlots; _ = g.ClaimLocal(ctx, b) }
		local()
		if n := testing.AllocsPerRun(1000, local); n != 0 {
			t.Errorf("%s: a local claim allocates %v times", name, n)
		}
	}
}

func BenchmarkClaim(b *testing.B) {
	for name, d := range map[string]Driver{"remote": nothing{}, "here": nothingHere{}} {
		b.Run(name, func(b *testing.B) {
			g := running(b, d)
			b.RunParallel(func(pb *testing.PB) {
				batch := both()
				for pb.Next() {
					_ = g.Claim(context.Background(), batch)
				}
			})
		})
	}
}
