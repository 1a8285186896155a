package workershed

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// visit is a request that is on its own way through a stage.
type visit struct {
	decision pipeline.Decision
	took     time.Duration
	done     chan struct{}
}

// start lets a request take, and returns when it has its answer or waits.
func (s *Stage) start(ctx context.Context, r *pipeline.Request) *visit {
	v := &visit{done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(v.done)
		v.decision = s.Take(ctx, r)
		v.took = time.Since(began)
	}()
	synctest.Wait()
	return v
}

// TestWaitersAreServedInClassOrder lets one of each class queue up, the least
// important first, and lists them as they are served.
func TestWaitersAreServedInClassOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1}, NewState())
		holder := s.hold(t, priority.Normal, 1)[0]
		visits := map[string]*visit{}
		for range 2 {
			for _, class := range priority.All {
				name := class.String()
				if visits[name] != nil {
					name += " again"
				}
				visits[name] = s.start(t.Context(), s.request(class))
			}
		}
		var order []string
		for len(visits) > 0 {
			s.Release(nil, holder, pipeline.Result{})
			synctest.Wait()
			for name, v := range visits {
				select {
				case <-v.done:
					order = append(order, name)
					holder = v.decision.Permit
					delete(visits, name)
				default:
				}
			}
		}
		s.Release(nil, holder, pipeline.Result{})
		want := "critical, critical again, high, high again, normal, normal again, low, low again"
		if got := strings.Join(order, ", "); got != want {
			t.Errorf("served: %s\nwant:   %s", got, want)
		}
		s.mustBeEmpty(t)
	})
}

// A line that has stood for a tenth of a second is served newest first: the
// oldest in it have no time left to use what they would get.
func TestStandingLineIsServedNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1, MaxWait: time.Second}, NewState())
		holder := s.hold(t, priority.Normal, 1)[0]
		var visits []*visit
		for range 4 {
			visits = append(visits, s.start(t.Context(), s.request(priority.Normal)))
			pass(33 * time.Millisecond)
		}
		next := func() int {
			s.Release(nil, holder, pipeline.Result{})
			synctest.Wait()
			for i, v := range visits {
				select {
				case <-v.done:
					if v.decision.Verdict == pipeline.Admit {
						holder, v.decision.Verdict = v.decision.Permit, pipeline.Abandon // seen
						return i
					}
				default:
				}
			}
			return -1
		}
		got := []int{next(), next()}
		pass(time.Second) // the rest times out, and the line is new
		visits = append(visits, s.start(t.Context(), s.request(priority.Normal)), s.start(t.Context(), s.request(priority.Normal)))
		got = append(got, next(), next())
		if want := []int{3, 2, 4, 5}; !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
		s.Release(nil, holder, pipeline.Result{})
		s.mustBeEmpty(t)
	})
}

func TestWaitIsShortAndAQuarterOfTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1}, NewState())
		defer s.releaseAll(s.hold(t, priority.Critical, 1))
		for _, c := range []struct {
			left time.Duration // 0 is no deadline
			wait time.Duration
			why  pipeline.Reason
		}{
			{0, 40 * time.Millisecond, pipeline.QueueTimeout},
			{time.Second, 40 * time.Millisecond, pipeline.QueueTimeout},
			{40 * time.Millisecond, 10 * time.Millisecond, pipeline.QueueTimeout},
			{-time.Millisecond, 0, pipeline.WorkerShed},
		} {
			r := s.request(priority.Critical)
			if c.left != 0 {
				r.Deadline = r.Now + int64(c.left)
			}
			v := s.start(t.Context(), r)
			<-v.done
			if v.took != c.wait || v.decision.Reason != c.why || r.Detail.Rule != Rule || r.Detail.RetryAfter <= 0 {
				t.Errorf("deadline in %v: %v after %v, %+v; want %v after %v", c.left, v.decision.Reason, v.took, r.Detail, c.why, c.wait)
			}
		}
	})
}

// A burst may wait for long, and who comes to a line that stands may not. When
// the line has been empty, it is a burst again. A more important class may wait
// for longer, a less important one never.
func TestWaitIsShortWhereALineStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1}, NewState())
		defer s.releaseAll(s.hold(t, priority.Critical, 1))
		wait := func(class priority.Class, want time.Duration) {
			t.Helper()
			v := s.start(t.Context(), s.request(class))
			go func() {
				if <-v.done; v.took != want {
					t.Errorf("%s waited %v, want %v", class, v.took, want)
				}
			}()
		}
		wait(priority.Normal, 40*time.Millisecond)
		for range 3 { // somebody comes before the last one leaves
			pass(33 * time.Millisecond)
			wait(priority.Normal, 40*time.Millisecond)
		}
		pass(time.Millisecond) // 100ms
		wait(priority.Normal, 20*time.Millisecond)
		wait(priority.Low, 20*time.Millisecond)
		wait(priority.High, 40*time.Millisecond)
		pass(200 * time.Millisecond)
		wait(priority.Low, 40*time.Millisecond)
		pass(time.Second)
	})
}

// A client that leaves does not stay to the end of its wait, and its place is
// free at once.
func TestWhoLeavesFreesItsPlaceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1, QueuePerClass: 1}, NewState())
		holder := s.hold(t, priority.Normal, 1)
		ctx, leave := context.WithCancel(t.Context())
		gone := s.start(ctx, s.request(priority.Normal))
		if d := s.Look(s.request(priority.Normal)); d.Reason != pipeline.WorkerShed {
			t.Errorf("a second place in a queue of one: %v", d)
		}
		pass(5 * time.Millisecond)
		leave()
		<-gone.done
		if gone.decision.Verdict != pipeline.Abandon || gone.took != 5*time.Millisecond {
			t.Errorf("who left after 5ms got %+v after %v", gone.decision, gone.took)
		}
		heir := s.start(t.Context(), s.request(priority.Normal))
		s.releaseAll(holder)
		if <-heir.done; heir.decision.Verdict != pipeline.Admit {
			t.Errorf("the place that was left is not free: %v", heir.decision.Reason)
		}
		s.Release(nil, heir.decision.Permit, pipeline.Result{})
		s.mustBeEmpty(t)
	})
}

func TestAThousandCallersLeaveWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1, QueuePerClass: 1000, MaxWait: time.Second}, NewState())
		holder := s.hold(t, priority.Normal, 1)
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		abandoned := atomic.Int32{}
		for range 1000 {
			group.Go(func() {
				if s.Take(ctx, s.request(priority.Normal)).Verdict == pipeline.Abandon {
					abandoned.Add(1)
				}
			})
		}
		synctest.Wait()
		if got := s.state.Snapshot().Queued[priority.Normal.Index()]; got != 1000 {
			t.Fatalf("%d are queued", got)
		}
		leave()
		group.Wait()
		if abandoned.Load() != 1000 {
			t.Errorf("%d of 1,000 abandoned", abandoned.Load())
		}
		s.releaseAll(holder)
		s.releaseAll(s.hold(t, priority.Low, 1))
		s.mustBeEmpty(t)
	})
}

// The slot is handed over and the waiter gives up in the same moment, again
// and again: the slot is used or given on, never lost.
func TestGrantRacesWithLeaving(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 1, MaxWait: time.Second}, NewState())
	admitted, abandoned := 0, 0
	for i := range 20_000 {
		holder := s.hold(t, priority.Normal, 1)[0]
		ctx, leave := context.WithCancel(context.Background())
		answer := make(chan pipeline.Decision, 1)
		go func() { answer <- s.Take(ctx, s.request(priority.Normal)) }()
		for s.state.slots.word.Load()&waiting == 0 {
			runtime.Gosched()
		}
		var both sync.WaitGroup
		first, second := leave, func() { s.Release(nil, holder, pipeline.Result{}) }
		if i%2 == 0 {
			first, second = second, first
		}
		both.Go(first)
		second()
		both.Wait()
		d := <-answer
		if d.Verdict == pipeline.Admit {
			admitted++
			s.Release(nil, d.Permit, pipeline.Result{})
		} else {
			abandoned++
		}
		if n := s.state.slots.total(); n != 0 {
			t.Fatalf("%d slots are out after %v", n, d.Verdict)
		}
	}
	t.Logf("%d used what they were given, %d gave it on", admitted, abandoned)
	s.mustBeEmpty(t)
}

// The same with the end of the wait, which virtual time puts at the very
// moment of the release: who is served in time is admitted.
func TestGrantRacesWithTheEndOfTheWait(t *testing.T) {
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, Config{MaxInFlight: 1}, NewState())
			holder := s.hold(t, priority.Normal, 1)[0]
			v := s.start(t.Context(), s.request(priority.Normal))
			pass(20 * time.Millisecond)
			s.Release(nil, holder, pipeline.Result{})
			<-v.done
			s.Release(nil, v.decision.Permit, pipeline.Result{})
			s.mustBeEmpty(t)
		})
	}
}

// A crowd on a limit of one: everybody gets a turn, in the order in which they
// came, and nobody sleeps through a free slot.
func TestCrowdOnOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1, QueuePerClass: mostWaiting, MaxWait: 10 * time.Second}, NewState())
		holder := s.hold(t, priority.Normal, 1)
		var group sync.WaitGroup
		var order []int // guarded by the slot
		for i := range crowd {
			group.Go(func() {
				d := s.Take(context.Background(), s.request(priority.Normal))
				if d.Verdict == pipeline.Admit {
					order = append(order, i)
					s.Release(nil, d.Permit, pipeline.Result{})
				}
			})
			if i < 2000 {
				synctest.Wait() // queued, before the next one comes
			}
		}
		synctest.Wait()
		s.releaseAll(holder)
		group.Wait()
		if len(order) != crowd {
			t.Errorf("%d of %d got a turn", len(order), crowd)
		}
		if !slices.IsSorted(order[:2000]) {
			t.Error("not in the order in which they came")
		}
		if s.state.queue.kept > sparesKept {
			t.Errorf("%d waiters are kept for use, want %d at most", s.state.queue.kept, sparesKept)
		}
		s.mustBeEmpty(t)
	})
}

// The same in real time, where releases and arrivals meet.
func TestCrowdLosesNoWakeUp(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 1, QueuePerClass: mostWaiting, MaxWait: 10 * time.Second}, NewState())
	var group sync.WaitGroup
	running, served := atomic.Int32{}, atomic.Int32{}
	for range crowd {
		group.Go(func() {
			d := s.Take(context.Background(), s.request(priority.Critical))
			if d.Verdict != pipeline.Admit {
				return
			}
			if running.Add(1) > 1 {
				t.Error("two run on one slot")
			}
			served.Add(1)
			running.Add(-1)
			s.Release(nil, d.Permit, pipeline.Result{})
		})
	}
	group.Wait()
	if served.Load() != crowd {
		t.Errorf("%d of %d got a turn", served.Load(), crowd)
	}
	s.mustBeEmpty(t)
}

// 128,000 acquires by 64 goroutines of all classes and some callers, with
// clients that leave at any moment, while the limit moves: nothing is left.
func TestNothingIsLostInTheCrush(t *testing.T) {
	state := NewState()
	views := []*Stage{
		newStage(t, Config{MaxInFlight: 8, MaxWait: time.Millisecond}, state),
		newStage(t, Config{MaxInFlight: 16, MaxWait: 2 * time.Millisecond}, state),
	}
	var callers [8]pipeline.Caller
	for i := range callers {
		callers[i] = caller(string(rune('a' + i)))
	}
	var group sync.WaitGroup
	most := atomic.Int64{}
	for g := range 64 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 7))
			for range 2000 {
				s := views[rng.IntN(2)]
				if rng.IntN(100) == 0 {
					state.limit.Store(int64(2 + rng.IntN(15)))
					state.queue.raised(state.clock.now())
					state.Snapshot()
				}
				r := s.request(priority.FromIndex(rng.IntN(4)))
				r.Caller = callers[rng.IntN(len(callers))]
				crush(s, r, rng, &most)
			}
		})
	}
	group.Wait()
	state.limit.Store(unlimited)
	if most.Load() > 16 {
		t.Errorf("%d ran at once under a limit of 16", most.Load())
	}
	views[0].mustBeEmpty(t)
	views[0].releaseAll(views[0].hold(t, priority.Critical, 2))
}

// crush takes one request through, with a client of little patience.
func crush(s *Stage, r *pipeline.Request, rng *rand.Rand, most *atomic.Int64) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	if rng.IntN(3) == 0 {
		go leave()
	}
	s.Look(r)
	s.Ask(r)
	s.Asked(r)
	d := s.Take(ctx, r)
	if d.Verdict != pipeline.Admit {
		return
	}
	if n := int64(s.state.slots.total()); n > most.Load() {
		most.Store(n)
	}
	if rng.IntN(10) == 0 {
		d = s.Detach(r, d.Permit)
	}
	s.Release(r, d.Permit, pipeline.Result{Outcome: pipeline.Outcome(rng.IntN(4))})
}

func TestWaitingDoesNotAllocate(t *testing.T) {
	s := newStage(t, Config{MaxInFlight: 1, MaxWait: time.Millisecond}, NewState())
	defer s.releaseAll(s.hold(t, priority.Normal, 1))
	r := s.request(priority.Normal)
	if n := testing.AllocsPerRun(20, func() {
		if d := s.Take(context.Background(), r); d.Reason != pipeline.QueueTimeout {
			t.Errorf("%v %v", d.Verdict, d.Reason)
		}
	}); n != 0 {
		t.Errorf("a wait allocates %v times", n)
	}
}

// A request knows how long it stood in line, and nothing when it stood in none.
func TestARequestKnowsHowLongItQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{MaxInFlight: 1}, NewState())
		first, second := s.request(priority.Normal), s.request(priority.Normal)
		s.Take(t.Context(), first)
		ctx, leave := context.WithCancel(t.Context())
		v := s.start(ctx, second)
		pass(3 * time.Millisecond)
		leave()
		<-v.done
		if first.Waits.Queue != 0 || time.Duration(second.Waits.Queue) != 3*time.Millisecond {
			t.Errorf("the first queued for %d ns, the second for %v", first.Waits.Queue, time.Duration(second.Waits.Queue))
		}
	})
}
