package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
)

// worker is one process: the real pipeline and what belongs to it, on a
// simulated machine.
type worker struct {
	world  *world
	place  int // in the fleet; a process that is started anew takes the place of the old
	link   *link
	server *server
	books  *books // what this worker must have done, counted beside it

	pipeline *pipeline.Pipeline
	guard    *store.Guard
	member   *fleet.Member
	state    *workershed.State
	usage    *fleetshed.State
	stages   struct {
		fleet  *fleetshed.Stage
		worker *workershed.Stage
	}

	late   uint64 // calls of the store that were late, when last asked
	stop   context.CancelFunc
	frozen atomic.Pointer[chan struct{}] // closed when it is thawed; nil while it runs
	dead   atomic.Bool
	listed atomic.Bool // the balancer sends requests

	believed struct {
		mu   sync.Mutex
		last [3]int
	}

	mu    sync.Mutex // guards the change of frozen
	rough time.Time  // when it was last cut off or frozen; guarded by the world
}

// freeze stops the process, as SIGSTOP does.
func (w *worker) freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.frozen.Load() == nil && !w.dead.Load() {
		thawed := make(chan struct{})
		w.frozen.Store(&thawed)
		w.books.frozen()
		w.world.balance(w)
	}
}

func (w *worker) thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if thawed := w.frozen.Swap(nil); thawed != nil {
		w.books.thawed()
		close(*thawed)
		w.world.balance(w)
	}
}

// kill ends the process, as SIGKILL does: what it holds it does not give back.
func (w *worker) kill() {
	w.dead.Store(true)
	w.books.killed()
	w.thaw()
	w.stop()
	w.world.balance(w)
}

// awake waits until the process runs, and reports whether it lives. It stands
// wherever time may have passed for the process.
func (w *worker) awake(dice *chance) bool {
	for {
		thawed := w.frozen.Load()
		if thawed == nil {
			return !w.dead.Load()
		}
		<-*thawed
		dice.apart()
	}
}

// up reports whether the process is there and runs.
func (w *worker) up() bool { return !w.dead.Load() && w.frozen.Load() == nil }

// gate is an entry of the plan that keeps a frozen pipeline from adapting.
type gate struct{ worker *worker }

func (gate) Look(*pipeline.Request) pipeline.Decision { return pipeline.Decision{} }

// Tick waits while the process is frozen.
func (g gate) Tick(int64) {
	dice := newChance(g.worker.link.seed, uint64(time.Now().UnixNano()))
	g.worker.awake(&dice)
}

// usage is the fleet stage's, of a process that may be frozen.
type usage struct{ worker *worker }

// Usage is what the worker does, when it runs.
func (u usage) Usage(now int64) (inFlight, demanded, refused store.PerClass) {
	dice := newChance(u.worker.link.seed, uint64(time.Now().UnixNano()))
	u.worker.awake(&dice)
	return u.worker.usage.Usage(now)
}

func (w *worker) name() string { return fmt.Sprintf("worker-%d", w.place+1) }

// run starts the process's background work.
func (w *worker) run() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.world.background.Go(func() { _ = w.pipeline.Run(ctx) })
	w.world.background.Go(func() { _ = w.member.Run(ctx) })
}

// heardOf notes an answer to the worker: with how many it shares its limits,
// unless the answer is too late for the guard.
func (w *worker) heardOf(v *store.View) {
	n := v.Live
	if v.LowTrust {
		n += v.Stale
	}
	w.believed.mu.Lock()
	defer w.believed.mu.Unlock()
	last := &w.believed.last
	if v.Learning {
		n = max(n, last[0])
	}
	last[2], last[1], last[0] = last[1], last[0], max(n, 1)
}

// workers are the least and the largest number of workers that this one may
// have believed in of late: some of what it was told may have been too late.
func (w *worker) workers() (least, most int) {
	w.believed.mu.Lock()
	defer w.believed.mu.Unlock()
	last := w.believed.last[:]
	return max(1, slices.Min(last)), max(1, slices.Max(last))
}

// death is when the process died, if it did.
func (w *worker) death() (at time.Time, dead bool) {
	w.books.mu.Lock()
	defer w.books.mu.Unlock()
	return w.books.died, !w.books.died.IsZero()
}
