package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// fleet is some workers on one store, and what they admitted of one key.
type fleet struct {
	t       *testing.T
	far     *far
	o       store.Key
	l       *store.Limit
	workers []*worker
	rand    *rand.Rand

	mu       sync.Mutex
	admitted []admission
}

// admission is what one request was granted and kept.
type admission struct {
	at     int64
	tokens int64
}

func newFleet(t *testing.T, l *store.Limit, workers int, seed uint64) *fleet {
	t.Helper()
	fl := &fleet{t: t, far: newFar(t, workers), o: store.KeyOf("o"), l: l, rand: rand.New(rand.NewPCG(seed, 1))}
	for range workers {
		fl.workers = append(fl.workers, work(t, fl.far, store.GuardConfig{Budget: time.Second}))
	}
	return fl
}

// ask asks as a pipeline does: the look first, then the claim; of what is
// granted some is given back.
func (fl *fleet) ask(w *worker, cost, back int64, after time.Duration) {
	now := time.Now().UnixNano()
	if _, denied := w.Denied(fl.o, fl.l, cost, now); denied {
		return
	}
	b := &store.Batch{Now: now, Claims: []store.Claim{{Owner: fl.o, Limit: fl.l, Cost: cost}}, Grants: make([]store.Grant, 1)}
	if err := w.Claim(context.Background(), b); err != nil || !b.Grants[0].OK {
		return
	}
	if back != 0 {
		<-time.After(after)
		w.giveBack(b, 0, back)
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.admitted = append(fl.admitted, admission{now, cost - back})
}

// storm lets each worker ask at rates of its own that change ten times.
func (fl *fleet) storm(for_ time.Duration, settle bool) {
	var group sync.WaitGroup
	for _, w := range fl.workers {
		seed := fl.rand.Uint64()
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, 2))
			for range 10 {
				every := []time.Duration{250 * time.Microsecond, 700 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond}[r.IntN(4)]
				for end := time.Now().Add(for_ / 10); time.Now().Before(end); {
					cost, back := 1+r.Int64N(3), int64(0)
					if settle && r.IntN(4) == 0 {
						back = cost - r.Int64N(2)*2*cost // all comes back, or as much again is charged
					}
					after := time.Duration(r.IntN(40)) * time.Millisecond
					group.Go(func() { fl.ask(w, cost, back, after) })
					<-time.After(every)
				}
			}
		})
	}
	group.Wait()
}

// end stops the workers, and checks that all that was lent is accounted for. It
// returns what was spent of leases, and what was admitted in all.
func (fl *fleet) end() (fromLeases, admitted int64) {
	fl.t.Helper()
	for i, w := range fl.workers {
		w.stop()
		if s := w.sums(); s.Held != 0 || s.Keys != 0 {
			fl.t.Errorf("worker %d ended with %+v", i, s)
		}
		fromLeases += w.Leases().Spent
		if s := w.Stats(); s.Dropped+s.Lost > 0 {
			fl.t.Errorf("worker %d lost returns: %+v", i, s)
		}
	}
	for _, a := range fl.admitted {
		admitted += a.tokens
	}
	return fromLeases, admitted
}

// peak is the most that was admitted beyond what the rate brought, over all
// spans of time: at most B + N·b.
func (fl *fleet) peak() (peak int64) {
	slices.SortFunc(fl.admitted, func(a, b admission) int { return int(a.at - b.at) })
	excess, last := 0.0, int64(0)
	perNano := float64(fl.l.Rate.Count) / float64(fl.l.Rate.Period)
	for _, a := range fl.admitted {
		excess = max(0, excess-perNano*float64(a.at-last)) + float64(a.tokens)
		last = a.at
		peak = max(peak, int64(excess))
	}
	return peak
}

// A quota is what it was: all that was granted was admitted, is in the store,
// or is void, whatever was spent, given back, returned and charged on the way.
func TestLeasesConserveTokens(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const all = 1 << 20
				fl := newFleet(t, quota(t, all), 1+int(seed%4), seed)
				fl.storm(2*time.Second, true)
				fromLeases, admitted := fl.end()
				if left := fl.far.left(t, fl.o, fl.l); left != all-admitted {
					t.Errorf("%d were admitted, and %d are left of %d", admitted, left, int64(all))
				}
				if fromLeases == 0 {
					t.Errorf("none of %d were from leases", admitted)
				}
			})
		})
	}
}

// A quota that runs out is spent to the last token, and not beyond.
func TestLeasesSpendAQuotaToTheLast(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fl := newFleet(t, quota(t, 1000), 3, seed)
				fl.storm(3*time.Second, false)
				<-time.After(store.DefaultLease + 100*time.Millisecond) // who idles has given back
				for range 100 {
					fl.ask(fl.workers[0], 1, 0, 0)
					<-time.After(time.Second) // refusals are forgotten
				}
				if _, admitted := fl.end(); admitted != 1000 {
					t.Errorf("%d were admitted of 1000", admitted)
				}
			})
		})
	}
}

// Over any span, what is admitted of a bucket is at most B + R·W + N·b, where b
// is what a worker holds: its part of a full bucket at most, so N·b is B/2.
func TestLeasesKeepTheBound(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const burst, workers = 1000, 4
				l, err := store.NewTokens("hot", store.TokenBucket, limit.Per(2000, time.Second), burst)
				if err != nil {
					t.Fatal(err)
				}
				fl := newFleet(t, l, workers, seed)
				fl.storm(3*time.Second, false)
				fromLeases, admitted := fl.end()
				if peak := fl.peak(); peak > burst+workers*burst/(2*workers) {
					t.Errorf("%d above the rate, of a burst of %d", peak, burst)
				}
				if fromLeases == 0 {
					t.Errorf("none of %d were from leases", admitted)
				}
				if left := fl.far.left(t, fl.o, l); left > burst {
					t.Errorf("%d left", left)
				}
			})
		})
	}
}

// A block is never more than its part of what is left.
func TestABlockIsAPartOfWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fl := newFleet(t, quota(t, 600), 3, 1)
		w := fl.workers[0]
		for range 2000 {
			left := fl.far.left(t, fl.o, fl.l)
			before := w.Leases()
			fl.ask(w, 1, 0, 0)
			if s := w.Leases(); s.Lent-before.Lent > left/6 {
				t.Fatalf("of %d left, %d were lent to one of three workers", left, s.Lent-before.Lent)
			}
			<-time.After(300 * time.Microsecond)
		}
		if _, admitted := fl.end(); admitted != 600 {
			t.Errorf("%d were admitted of 600", admitted)
		}
	})
}

// Many at once, on all methods: for the race detector, and for the sums.
func TestLeasesAtOnce(t *testing.T) {
	fl := newFleet(t, quota(t, 1<<40), 2, 1)
	fl.far.near.Store(true)
	other, err := store.NewTokens("hot", store.FixedWindow, limit.Per(1<<39, 24*time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			w, r := fl.workers[i%2], rand.New(rand.NewPCG(uint64(i), 3))
			for range 4000 {
				switch n := r.IntN(1000); {
				case n == 0:
					w.take(fl.o, other, 1)
				case n == 1:
					w.Return(t.Context(), []store.Return{{Owner: fl.o, Limit: fl.l, Reset: true, Now: time.Now().UnixNano()}})
				case n < 300:
					b := w.claim(store.Claim{Owner: fl.o, Limit: fl.l, Cost: 2})
					w.giveBack(b, 0, 1)
				default:
					w.take(fl.o, fl.l, 1+r.Int64N(2))
				}
			}
		})
	}
	group.Wait()
	spent, _ := fl.end()
	t.Logf("%d from leases", spent)
}
