package fleetshed

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// shared is a remote store: a ledger with a clock of its own, that can be lost.
type shared struct {
	mu     sync.Mutex
	ledger store.Ledger
	lost   bool
}

func (s *shared) Sync(_ context.Context, r store.Report) (store.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return store.View{}, errors.New("lost")
	}
	r.Now = time.Now().UnixNano()
	return s.ledger.Sync(r), nil
}

func (s *shared) lose(lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = lost
}

// worker is one process: a stage, its member, and the requests in it.
type worker struct {
	stage    *Stage
	stop     context.CancelFunc
	runs     chan struct{} // holds one while the process is not frozen
	down     bool
	inFlight [][]pipeline.Permit // by the millisecond in which they end, counted from now
	critical int                 // refused
	refused  int
}

const (
	workers  = 8
	capacity = 50.0
	service  = 20 // ms
)

func startWorker(t *testing.T, s *shared) *worker {
	t.Helper()
	w, state := &worker{inFlight: make([][]pipeline.Permit, service), runs: make(chan struct{}, 1)}, &State{}
	w.runs <- struct{}{}
	own := func() float64 { return capacity }
	m, err := fleet.New(fleet.Config{
		Store: s, Usage: state, Capacity: own, Terms: fleet.Terms{Reserve: 0.2, Declared: workers * capacity},
		Now: func() int64 { <-w.runs; w.runs <- struct{}{}; return time.Now().UnixNano() },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stage = mustNew(t, Config{Lease: m, Capacity: own, Declared: workers * capacity, ClassCaps: flat}, state)
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go m.Run(ctx) //nolint:errcheck // it ends with the context
	return w
}

// step is a millisecond of one worker: what is done leaves, and requests come.
func (w *worker) step(ms, critical, normal int) {
	for _, p := range w.inFlight[ms%service] {
		w.stage.Release(nil, p, pipeline.Result{})
	}
	w.inFlight[ms%service] = w.inFlight[ms%service][:0]
	for i := range critical + normal {
		class := priority.Critical
		if i >= critical {
			class = priority.Normal
		}
		r := request(class)
		r.Now = time.Now().UnixNano()
		p, in := w.stage.enter(r)
		switch {
		case in:
			w.inFlight[ms%service] = append(w.inFlight[ms%service], p)
		case class == priority.Critical:
			w.critical++
		default:
			w.refused++
		}
	}
	if ms%100 == 0 {
		w.stage.Tick(0)
	}
}

// TestAFleetThroughItsTroubles: two of eight workers die, one is frozen for a
// while, the store is lost. Critical traffic is never refused, and at no moment
// does the rest use more than the reserve leaves of what was declared.
func TestAFleetThroughItsTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		var list []*worker
		for range workers {
			list = append(list, startWorker(t, s))
		}
		synctest.Wait()
		const budget = 0.8 * workers * capacity
		play := func(for_ time.Duration) (most, last float64) {
			t.Helper()
			for ms := range int(for_.Milliseconds()) {
				sum := 0.0
				for _, w := range list {
					if !w.down {
						w.step(ms, ms%3/2, 5) // a third of a request, and five: twice what fits
						sum += w.stage.State().InFlight()[priority.Normal.Index()]
					}
				}
				most, last = max(most, sum), sum
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			return most, last
		}
		overdrive := func(phase string, for_ time.Duration) (most, last float64) {
			t.Helper()
			if most, last = play(for_); most > budget+1e-6 {
				t.Errorf("%s: %v in flight of a budget of %v", phase, most, budget)
			}
			return most, last
		}
		least := func(phase string, got, want float64) {
			t.Helper()
			if got < want {
				t.Errorf("%s: only %v in flight, want %v", phase, got, want)
			}
		}
		_, last := overdrive("all is well", 4*time.Second)
		least("all is well", last, 220)

		for _, w := range list[:2] { // killed; their requests die with them
			w.down = true
			w.stop()
			w.stage.state.inFlight.Store(0)
		}
		_, last = overdrive("two are dead", 5*time.Second)
		least("two are dead", last, 220)

		frozen := list[2]
		<-frozen.runs
		frozen.down = true
		overdrive("one is frozen", 4*time.Second)
		frozen.runs <- struct{}{}
		synctest.Wait()
		frozen.down = false
		stuck := frozen.stage.State().InFlight()[priority.Normal.Index()]
		if most, _ := play(100 * time.Millisecond); most > budget+stuck {
			t.Errorf("it wakes with %v requests, and %v are in flight of a budget of %v", stuck, most, budget)
		}
		overdrive("they have ended", 4*time.Second)

		s.lose(true)
		_, last = overdrive("the store is lost", 10*time.Second)
		least("the store is lost", last, 6*0.8*capacity-10)
		s.lose(false)
		_, last = overdrive("it is back", 4*time.Second)
		least("it is back", last, 220)

		for _, w := range list {
			if w.critical > 0 {
				t.Errorf("%d critical requests were refused", w.critical)
			}
			w.stop()
		}
	})
}

func TestALightLoadIsNeverRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		list := []*worker{startWorker(t, s)}
		for ms := range 8000 { // 0.6 of what fits from the first millisecond, in bursts of three
			if ms == 1000 || ms == 4000 {
				list = append(list, startWorker(t, s), startWorker(t, s))
			}
			for _, w := range list {
				w.step(ms, 0, int(math.Mod(float64(ms+1), 2))*3)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		for i, w := range list {
			if w.refused > 0 {
				t.Errorf("worker %d refused %d requests", i, w.refused)
			}
			w.stop()
		}
	})
}
