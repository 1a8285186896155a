package sim

import (
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// tick is how often the invariants of whole workers are checked.
const tick = 100 * time.Millisecond

// watch checks at each tick, at a moment at which nothing else happens, and
// notes what each second looks like.
func (w *world) watch() {
	for n := 1; ; n++ {
		timer := time.NewTimer(time.Until(w.began.Add(time.Duration(n)*tick - 1)))
		select {
		case <-timer.C:
		case <-w.over:
			timer.Stop()
			return
		}
		w.seeCalm()
		for _, worker := range w.all() {
			worker.books.tick()
		}
		w.checks.tick(w.shared.now())
		w.reckonReserve(tick)
		if n%10 == 0 {
			w.probe(n / 10)
			w.noteSecond()
		}
	}
}

func (s *shared) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.now()
}

// calmTrip is how far the store may be for its guard to be content.
const calmTrip = 1200 * time.Microsecond

// seeCalm notes when the way to the store was last in trouble.
func (w *world) seeCalm() {
	n, paused, _ := w.shared.look()
	rough := n.lost || n.refusing || n.loss > 0 || paused != nil || n.trip > calmTrip
	w.mu.Lock()
	defer w.mu.Unlock()
	if rough {
		w.rough = time.Now()
	}
	for _, worker := range w.workers {
		if worker.link.cut.Load() || worker.frozen.Load() != nil {
			worker.rough = time.Now()
		}
	}
}

// calmSince is since when a worker has been able to reach the store, to a tick.
func (w *world) calmSince(worker *worker) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return latest(w.rough, worker.rough).Add(tick)
}

// probe asks each stage about all classes in one state: if it admits one, it
// admits every one that is more important.
func (w *world) probe(n int) {
	for _, worker := range w.all() {
		if !worker.up() {
			continue
		}
		key := w.traffic.keys[n%len(w.traffic.keys)]
		for name, stage := range map[string]pipeline.Stage{"fleet": worker.stages.fleet, "worker": worker.stages.worker} {
			admitted := false
			for _, class := range priority.All {
				now := worker.pipeline.Now()
				r := &pipeline.Request{Now: now, Class: class, Cohort: priority.CohortOf(key.Lo, now), Caller: pipeline.Caller{ID: key}, Cost: 1}
				d := stage.Look(r)
				if admitted && d.Verdict != pipeline.Admit {
					w.journal.violate("priority", "the %s stage of worker %d admits less important work and refuses %s", name, worker.place+1, class)
				}
				admitted = admitted || d.Verdict == pipeline.Admit
			}
		}
	}
}

// reckonReserve adds up what non-critical work uses above what the reserve of
// all capacity leaves, the workers that died not counted.
func (w *world) reckonReserve(over time.Duration) {
	s := &w.scenario.setup
	capacity, used := 0.0, 0.0
	for _, worker := range w.all() {
		if worker.dead.Load() {
			continue
		}
		capacity += worker.capacity()
		n := worker.usage.InFlight()
		used += n.Sum() - n[priority.Critical.Index()]
	}
	if s.declared > 0 {
		capacity = s.declared
	}
	if above := used - (1-s.reserve)*capacity; above > 0 {
		w.record.mu.Lock()
		w.record.second(time.Now()).Over += above * over.Seconds()
		w.record.mu.Unlock()
	}
}

// noteSecond notes what the workers say at the end of a second.
func (w *world) noteSecond() {
	limit, inFlight, up, level, worst, waited := 0, 0, 0, 0.0, store.OK, 0
	var known []float64
	for _, worker := range w.all() {
		if !worker.up() {
			continue
		}
		up++
		snap := worker.state.Snapshot()
		limit += snap.Limit
		inFlight += worker.pipeline.InFlight()
		level = max(level, snap.Level, snap.Strain)
		worst = max(worst, worker.guard.State())
		waited += worker.newlyLate()
		known = append(known, worker.member.Lease().Capacity)
	}
	lease := w.leasesInUse(nil)
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	second := w.record.second(time.Now())
	second.Limit, second.InFlight, second.Up, second.Level = limit, inFlight, up, level
	second.Store, second.Lease, second.Waited = worst.String(), lease, waited
	slices.Sort(known)
	if up > 0 {
		second.Known = known[up/2]
	}
}

// newlyLate is how many decisions waited for the store in vain since it was
// last asked.
func (w *worker) newlyLate() int {
	late := w.guard.Stats().Late
	n := late - w.late
	w.late = late
	return int(n)
}
