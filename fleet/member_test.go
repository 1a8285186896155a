package fleet

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/store"
)

// fakeStore is a fleet's store that can be made to fail. It has a clock of its
// own, as a remote store has.
type fakeStore struct {
	mu      sync.Mutex
	ledger  *store.Ledger
	fault   string // "", error, hang, panic
	free    chan struct{}
	waiting int
	reports []store.Report
	at      []time.Time

	answered []store.Report
}

func newFakeStore() *fakeStore {
	return &fakeStore{ledger: &store.Ledger{}, free: make(chan struct{})}
}

func (s *fakeStore) Sync(_ context.Context, r store.Report) (store.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, r)
	s.at = append(s.at, time.Now())
	switch s.fault {
	case "error":
		return store.View{}, errors.New("broken")
	case "panic":
		panic("broken")
	case "hang": // heeds no context
		s.waiting++
		free := s.free
		s.mu.Unlock()
		<-free
		s.mu.Lock()
		s.waiting--
		return store.View{}, errors.New("too late")
	}
	s.answered = append(s.answered, r)
	r.Now = time.Now().UnixNano()
	return s.ledger.Sync(r), nil
}

func (s *fakeStore) breakBy(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
	if fault == "" {
		close(s.free)
		s.free = make(chan struct{})
	}
}

func (s *fakeStore) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger = &store.Ledger{}
}

func (s *fakeStore) last() store.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports[len(s.reports)-1]
}

// load is a usage that a test sets.
type load struct {
	mu       sync.Mutex
	inFlight store.PerClass
	demanded store.PerClass
	refused  float64 // in each beat
}

func (l *load) Usage(int64) (inFlight, demanded, refused store.PerClass) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight, l.demanded, store.PerClass{0, l.refused}
}

func (l *load) set(inFlight, demanded store.PerClass) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight, l.demanded = inFlight, demanded
}

// join makes a member of 100 requests with a reserve of a fifth, and runs it.
func join(t *testing.T, s Syncer, change func(*Config)) (m *Member, stop func()) {
	t.Helper()
	c := Config{Store: s, Terms: Terms{Reserve: 0.2}, Capacity: func() float64 { return 100 }}
	if change != nil {
		change(&c)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	synctest.Wait()
	return m, func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	}
}

func (m *Member) mustRoom(t *testing.T, want float64) {
	t.Helper()
	got, known := m.Room(m.config.Now())
	if !known || math.Abs(got-want) > 1e-6 {
		t.Errorf("room %v (known %v), want %v", got, known, want)
	}
}

func TestALoneMemberHasTheBudgetAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, stop := join(t, newFakeStore(), nil)
		defer stop()
		m.mustRoom(t, 80)
		time.Sleep(time.Minute)
		m.mustRoom(t, 80)
	})
}

func TestBeatsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		_, stop := join(t, s, nil)
		time.Sleep(time.Minute)
		stop()
		shortest, longest := time.Hour, time.Duration(0)
		for i := range len(s.at) - 2 { // the last is the leave
			gap := s.at[i+1].Sub(s.at[i])
			shortest, longest = min(shortest, gap), max(longest, gap)
		}
		if shortest < 400*time.Millisecond || longest > 600*time.Millisecond || longest-shortest < 50*time.Millisecond {
			t.Errorf("beats are %v to %v apart, want 400ms to 600ms, spread", shortest, longest)
		}
	})
}

func TestNothingIsKnownBeforeTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.breakBy("error")
		m, stop := join(t, s, nil)
		defer stop()
		time.Sleep(10 * time.Second)
		if room, known := m.Room(m.config.Now()); known {
			t.Errorf("room %v of a store that never answered", room)
		}
		if l := m.Lease(); l.Missed < 15 || l.Err == nil || l.Heard != 0 {
			t.Errorf("the lease is %+v", l)
		}
	})
}

func TestNobodyKnowsACapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, stop := join(t, newFakeStore(), func(c *Config) { c.Capacity = nil })
		defer stop()
		if room, known := m.Room(m.config.Now()); known {
			t.Errorf("room %v of an unknown capacity", room)
		}
	})
}

// TestTheStoreIsLost goes through each way of losing it: the lease holds until
// it ends, then the room moves to this worker's own, and a new lease holds at
// once.
func TestTheStoreIsLost(t *testing.T) {
	for _, fault := range []string{"error", "hang", "panic"} {
		for _, c := range []struct {
			name     string
			critical float64
			capacity int64 // of the worker, after the loss
			after    map[time.Duration]float64
		}{
			{"down to its own", 0, 50, map[time.Duration]float64{time.Second: 77.5, 10 * time.Second: 55, 40 * time.Second: 40}},
			{"up to its own", 30, 100, map[time.Duration]float64{time.Second: 51, 10 * time.Second: 60, 40 * time.Second: 80}},
		} {
			t.Run(fault+" "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, l := newFakeStore(), &load{inFlight: store.PerClass{3: c.critical}}
					var capacity atomic.Int64
					capacity.Store(100)
					m, stop := join(t, s, func(cfg *Config) {
						cfg.Usage, cfg.Capacity = l, func() float64 { return float64(capacity.Load()) }
					})
					lease := 80 - c.critical
					if l := m.Lease(); l.Until != l.Heard+3*int64(store.DefaultBeat) {
						t.Errorf("a lease ends %v after its report", time.Duration(l.Until-l.Heard))
					}
					m.mustRoom(t, lease)
					s.breakBy(fault)
					capacity.Store(c.capacity)
					time.Sleep(time.Duration(m.Lease().Until-m.config.Now()) - 1)
					m.mustRoom(t, lease)
					time.Sleep(time.Nanosecond)
					m.mustRoom(t, lease)
					ended := time.Now()
					for since, want := range c.after {
						room, _ := m.Room(m.config.Now() + int64(since))
						if math.Abs(room-want) > 1e-6 {
							t.Errorf("%v after the lease ended the room is %v, want %v", since, room, want)
						}
					}
					time.Sleep(time.Minute - time.Since(ended))
					synctest.Wait()
					if s.waiting > 1 {
						t.Errorf("%d calls hang", s.waiting)
					}
					s.breakBy("")
					time.Sleep(700 * time.Millisecond)
					m.mustRoom(t, 0.8*float64(c.capacity)-c.critical)
					if m.Lease().Missed != 0 {
						t.Errorf("after an answer: %+v", m.Lease())
					}
					stop()
				})
			})
		}
	}
}

func TestAHungStoreHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		before := runtime.NumGoroutine()
		_, stop := join(t, s, nil)
		s.breakBy("hang")
		time.Sleep(time.Hour)
		if n := runtime.NumGoroutine() - before; n > 3 {
			t.Errorf("%d goroutines more", n)
		}
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > store.DefaultBeat {
			t.Errorf("it took %v to leave", took)
		}
		s.breakBy("")
	})
}

func TestTheStoreComesBackEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, busy := newFakeStore(), &load{}
		busy.set(store.PerClass{1: 100}, store.PerClass{1: 500})
		a, stopA := join(t, s, func(c *Config) { c.Usage, c.Worker, c.Capacity = busy, "a", func() float64 { return 200 } })
		b, stopB := join(t, s, func(c *Config) { c.Worker = "b" })
		time.Sleep(10 * time.Second)
		had := a.Lease().View.Lease
		if had < 180 {
			t.Fatalf("the busy one has %v", had)
		}
		s.forget()
		time.Sleep(600 * time.Millisecond)
		a.mustRoom(t, had)
		time.Sleep(5 * time.Second)
		a.mustRoom(t, had)
		if sum := a.Lease().View.Lease + b.Lease().View.Lease; sum > 240+1e-6 || a.Lease().Learning {
			t.Errorf("later the leases sum to %v, %+v", sum, a.Lease())
		}
		stopA()
		stopB()
	})
}

func TestAClockThatIsWrongChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		_, stopA := join(t, s, func(c *Config) { c.Worker = "a" })
		b, stopB := join(t, s, func(c *Config) {
			c.Worker = "b"
			c.Now = func() int64 { return time.Now().Add(5 * time.Minute).UnixNano() }
		})
		for range 20 {
			time.Sleep(store.DefaultBeat)
			if l := b.Lease(); l.Live != 2 || l.Stale != 0 {
				t.Fatalf("the fleet is %+v", l)
			}
		}
		b.mustRoom(t, 80)
		stopA()
		stopB()
	})
}

func TestDrainAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newFakeStore(), &load{}
		l.set(store.PerClass{1: 10}, store.PerClass{1: 10})
		a, stopA := join(t, s, func(c *Config) { c.Worker = "a" })
		b, stopB := join(t, s, func(c *Config) { c.Worker, c.Usage = "b", l })
		b.Drain()
		synctest.Wait()
		if r := s.last(); !r.Draining || r.Worker != "b" {
			t.Errorf("drain says %+v", r)
		}
		time.Sleep(4 * time.Second) // the store is young; then the other hears of it, and then it does
		b.mustRoom(t, 10)
		a.mustRoom(t, 70)
		if v := a.Lease(); v.Drained != 1 || v.Capacity != 100 || v.InFlight.Sum() != 10 {
			t.Errorf("the other hears %+v", v)
		}
		stopB()
		stopA()
		if r := s.last(); !r.Draining || r.Worker != "a" {
			t.Errorf("the last word is %+v", r)
		}
	})
}

// A worker that ends while a heartbeat is under way says goodbye all the same.
func TestTheLastBeatWaitsForTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m, stop := join(t, s, nil)
		synctest.Wait()
		s.breakBy("hang")
		m.Drain()
		synctest.Wait()
		time.AfterFunc(store.DefaultBeat/5, func() { s.breakBy("") })
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		if r := s.answered[len(s.answered)-1]; !r.Draining {
			t.Errorf("the last that was heard is %+v", r)
		}
	})
}

func TestRefusalsAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newFakeStore(), &load{refused: 1}
		_, stop := join(t, s, func(c *Config) { c.Usage = l })
		for i := range 40 {
			time.Sleep(store.DefaultBeat)
			s.breakBy([]string{"", "error"}[i/10%2])
		}
		s.breakBy("")
		time.Sleep(store.DefaultBeat * 2)
		stop()
		heard, most := 0.0, 0.0
		for _, r := range s.answered { // what an error carried away comes again
			heard, most = heard+r.Refused[1], max(most, r.Refused[1])
		}
		if heard != float64(len(s.reports)) || most < 8 {
			t.Errorf("%v refusals heard in %d beats with one each, %v at most at once", heard, len(s.reports), most)
		}
	})
}

func TestTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, stop := join(t, newFakeStore(), nil)
		defer stop()
		if err := m.SetTerms(Terms{Reserve: 0.5}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		m.mustRoom(t, 50)
		if err := m.SetTerms(Terms{Reserve: 2, Declared: -1}); err == nil || !strings.Contains(err.Error(), "reserve") || !strings.Contains(err.Error(), "declared") {
			t.Errorf("got %v", err)
		}
		m.mustRoom(t, 50)
		var heard []store.View
		n, stopN := join(t, newFakeStore(), func(c *Config) {
			c.Declared, c.OnView = 60, func(v store.View) { heard = append(heard, v) }
		})
		n.mustRoom(t, 48)
		stopN()
		if len(heard) != 2 || heard[0].Capacity != 60 {
			t.Errorf("heard %+v", heard)
		}
	})
}

func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, stop := join(t, newFakeStore(), nil)
		defer stop()
		if err := m.Run(t.Context()); err == nil {
			t.Error("ran twice")
		}
	})
}

func TestFaultyConfigurations(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   []string
	}{
		{"nothing", Config{}, []string{"needs a store"}},
		{"all", Config{Beat: time.Hour, Terms: Terms{Reserve: math.NaN(), Declared: math.Inf(1)}}, []string{"a store", "beat", "reserve", "declared"}},
		{"beat too short", Config{Store: newFakeStore(), Beat: time.Millisecond}, []string{"50ms … 10s, got 1ms"}},
		{"below", Config{Store: newFakeStore(), Terms: Terms{Reserve: -0.1, Declared: -1}}, []string{"reserve must be 0 … 0.9", "declared"}},
	} {
		_, err := New(c.config)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not name %q", c.name, err, want)
			}
		}
	}
	m, err := New(Config{Store: newFakeStore()})
	if err != nil || m.Worker() == "" || m.config.Now() < time.Now().Add(-time.Hour).UnixNano() {
		t.Errorf("the defaults: %v, worker %q, now %d", err, m.Worker(), m.config.Now())
	}
}

func TestOwnCapacity(t *testing.T) {
	for _, c := range []struct {
		capacity, declared float64
		live               int
		want               float64
	}{{100, 0, 4, 100}, {0, 100, 4, 25}, {100, 80, 4, 20}, {10, 80, 4, 10}, {0, 0, 0, 0}, {0, 80, 0, 80}} {
		if got := ownCapacity(c.capacity, c.declared, c.live); got != c.want {
			t.Errorf("ownCapacity(%v, %v, %d) = %v, want %v", c.capacity, c.declared, c.live, got, c.want)
		}
	}
}

func TestGlide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string) float64 { return rapid.Float64Range(0, 1000).Draw(t, what) }
		lease, capacity := draw("lease"), draw("capacity")
		room := capacity * rapid.Float64Range(0.1, 1).Draw(t, "share")
		s := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "since"))
		step := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "step"))
		at, then := glide(lease, capacity, room, s), glide(lease, capacity, room, s+step)
		if at < min(lease, room)-1e-9 || at > max(lease, room)+1e-9 {
			t.Fatalf("%v is not between %v and %v", at, lease, room)
		}
		if math.Abs(then-room) > math.Abs(at-room)+1e-9 {
			t.Fatalf("it moves away from %v: %v, then %v", room, at, then)
		}
		if then < at-0.05*capacity*step.Seconds()-1e-6 || then > at+0.01*capacity*step.Seconds()+1e-6 {
			t.Fatalf("from %v to %v in %v is too fast for a capacity of %v", at, then, step, capacity)
		}
	})
}

func TestRoomAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, stop := join(t, newFakeStore(), nil)
		defer stop()
		now := m.config.Now()
		for _, at := range []int64{now, now + int64(time.Hour)} {
			if n := testing.AllocsPerRun(100, func() { m.Room(at) }); n != 0 {
				t.Errorf("allocates %v times", n)
			}
		}
	})
}

func BenchmarkRoom(b *testing.B) {
	m, err := New(Config{Store: newFakeStore()})
	if err != nil {
		b.Fatal(err)
	}
	m.lease.Store(&Lease{View: store.View{Capacity: 100, Lease: 80}, Until: math.MaxInt64})
	for b.Loop() {
		m.Room(1)
	}
}
