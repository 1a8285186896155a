package sim

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// world is all that is played.
type world struct {
	scenario *Scenario
	seed     uint64
	began    time.Time
	journal  *journal
	record   *record
	checks   *checks
	shared   *shared
	traffic  *traffic
	hang     atomic.Int64 // share of the handlers that hang, in units of 1/hangUnit

	over       chan struct{} // closed at the end
	requests   sync.WaitGroup
	background sync.WaitGroup

	mu           sync.Mutex
	workers      []*worker // by place
	incarnations int
	service      time.Duration // when it was changed; else 0
	rough        time.Time     // when the way to the store was last not calm
}

func newWorld(s *Scenario, seed uint64) (*world, error) {
	w := &world{scenario: s, seed: seed, began: time.Now(), over: make(chan struct{}), journal: newJournal()}
	w.record = &record{began: w.began}
	checks, err := newChecks(w)
	if err != nil {
		return nil, err
	}
	w.checks = checks
	w.shared = newShared(&s.setup, checks)
	w.traffic = newTraffic(w)
	for place := range s.setup.workers {
		worker, err := newWorker(w, place, 0)
		if err != nil {
			return nil, err
		}
		w.workers = append(w.workers, worker)
	}
	return w, nil
}

// play plays the scenario to its end.
func (w *world) play() {
	dice := newChance(w.seed, 3)
	for _, worker := range w.workers {
		dice.apart()
		worker.run()
		worker.listed.Store(true)
	}
	for _, s := range []*source{w.traffic.everybody, w.traffic.abuser, w.traffic.streams} {
		w.background.Go(func() { s.run(w.over) })
	}
	w.background.Go(w.watch)
	for _, e := range w.scenario.events {
		time.Sleep(time.Until(w.began.Add(e.at)) + time.Duration(dice.below(1000)))
		w.journal.note(e.line, 0, 0, 0)
		w.record.event(e.line)
		e.act(w)
	}
	time.Sleep(time.Until(w.began.Add(w.scenario.setup.length)))
	w.end()
}

// end lets everything come to its end, on a store that is well.
func (w *world) end() {
	close(w.over)
	w.shared.resume()
	w.shared.weather(func(n *network) { n.lost, n.refusing, n.loss = false, false, 0 })
	for _, worker := range w.all() {
		worker.link.cut.Store(false)
		worker.thaw()
	}
	w.requests.Wait()
	for _, worker := range w.all() {
		worker.stop()
	}
	w.background.Wait()
}

func (w *world) all() []*worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.workers)
}

func (w *world) process(place int) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.workers[place]
}

func (w *world) kill(place int) { w.process(place).kill() }

// start starts a process anew in the place of a dead one.
func (w *world) start(place int) {
	if !w.process(place).dead.Load() {
		return
	}
	w.mu.Lock()
	w.incarnations++
	n, service := w.incarnations, w.service
	w.mu.Unlock()
	worker, err := newWorker(w, place, n)
	if err != nil {
		panic(err) // the same configuration made the first
	}
	if service > 0 {
		worker.server.setService(service)
	}
	w.mu.Lock()
	w.workers[place] = worker
	w.mu.Unlock()
	worker.run()
	w.balance(worker)
}

// balance lets the balancer see, after a while, whether a worker runs.
func (w *world) balance(worker *worker) {
	w.background.Go(func() {
		timer := time.NewTimer(w.scenario.setup.balancer)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-w.over:
		}
		worker.listed.Store(worker.up())
	})
}

// pick is the worker that the balancer sends a request to, or nil: there is
// none, or nobody listens there any more.
func (w *world) pick(dice *chance) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, worker := range w.workers {
		if worker.listed.Load() {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	chosen := dice.below(n)
	for _, worker := range w.workers {
		if !worker.listed.Load() {
			continue
		}
		if chosen == 0 {
			if worker.dead.Load() {
				return nil
			}
			return worker
		}
		chosen--
	}
	return nil
}

func (w *world) setService(d time.Duration) {
	w.mu.Lock()
	w.service = d
	w.mu.Unlock()
	for _, worker := range w.all() {
		worker.server.setService(d)
	}
}

func (w *world) callerName(k store.Key) string {
	for i, key := range w.traffic.keys {
		if key == k {
			if i == len(w.traffic.keys)-1 {
				return "the abuser"
			}
			return store.Key.String(k)[:8]
		}
	}
	return "unknown"
}

// leasesInUse are the leases that workers go by at this moment, but for one.
func (w *world) leasesInUse(but *worker) (sum float64) {
	for _, worker := range w.all() {
		if worker == but || worker.dead.Load() {
			continue
		}
		if l := worker.member.Lease(); worker.pipeline.Now() < l.Until {
			sum += l.View.Lease
		}
	}
	return sum
}
