package store

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/priority"
)

// How long a worker's silence means what, in its own beats.
const (
	leaseBeats  = 3  // a lease lasts, and a silent worker counts as live
	forgetBeats = 10 // a silent worker is remembered
)

// maxWorkers bounds what a ledger remembers; a worker more gets no lease.
const maxWorkers = 4096

// Ledger is a fleet's bookkeeping: who is in it, what it can carry, and who
// holds which lease on it. It is how an in-process driver answers Sync, and
// what the script of a remote one does. The zero value is an empty fleet. It is
// safe for concurrent use; a call costs one pass over the workers and a sort.
//
// It keeps its own time, which the clocks of the reports push forward: one
// that steps back stops it, and one that leaps moves it by a single beat, so
// that no step makes the other workers look dead.
type Ledger struct {
	mu      sync.Mutex
	workers []*worker
	begun   bool
	now     int64   // of the ledger; never steps back
	offset  int64   // from the clock of the reports to now
	born    int64   // when the first worker was heard
	lost    float64 // capacity of workers that fell silent and were forgotten, fading
	faded   int64   // when lost was last brought up to date
}

// worker is what the ledger knows of one process.
type worker struct {
	report  Report
	heard   int64
	brought float64 // the lease that it held when it was first heard
	granted lease   // by the last grant
	held    lease   // by its own last word; it goes by this one if the grant did not arrive
}

type lease struct {
	size  float64
	until int64
}

func (l lease) at(now int64) float64 {
	if now >= l.until {
		return 0
	}
	return l.size
}

// live is what the worker may hold at most, whether the last grant arrived or
// not.
func (w *worker) live(now int64) float64 { return max(w.granted.at(now), w.held.at(now)) }

// silent is how many beats ago the worker was heard.
func (w *worker) silent(now int64) float64 {
	return float64(now-w.heard) / float64(w.report.Beat)
}

// Sync takes one worker's report and answers with its view of the fleet. The
// lease in it is never larger than what the other workers' leases leave of the
// budget at this moment, except that a young ledger lets a worker go on with
// the lease that it brought along.
func (l *Ledger) Sync(r Report) View {
	l.mu.Lock()
	defer l.mu.Unlock()
	r = sane(r)
	l.advance(&r)
	l.forget()
	w := l.enter(r)
	s := l.sum()
	v := s.view()
	v.Learning = l.now-l.born < leaseBeats*int64(r.Beat)
	v.LeaseFor = leaseBeats * r.Beat
	if w == nil {
		v.LowTrust = true
		return v
	}
	v.Lease = l.grant(w, &s, v.Learning)
	w.granted = lease{v.Lease, l.now + int64(v.LeaseFor)}
	return v
}

// advance brings the ledger's time to a report's.
func (l *Ledger) advance(r *Report) {
	if !l.begun {
		l.begun, l.now, l.born, l.faded = true, r.Now, r.Now, r.Now
		return
	}
	l.now, l.offset = advance(l.now, l.offset, r.Now, int64(r.Beat))
}

// advance is the ledger's next time and offset, given the clock of a report:
// one that is back by more than a beat was set, and so was, or slept, one that
// is ahead of everybody's last word by more than a lease.
func advance(now, offset, clock, beat int64) (int64, int64) {
	next := clock + offset
	switch {
	case next > now+leaseBeats*beat:
		next = now + beat
		return next, next - clock
	case next < now-beat:
		return now, now - clock
	}
	return max(now, next), offset
}

// forget drops those who have been silent for long. Their capacity counts as
// lost for a while: see trusted.
func (l *Ledger) forget() {
	l.lost = fade(l.lost, l.now-l.faded)
	l.faded = l.now
	l.workers = slices.DeleteFunc(l.workers, func(w *worker) bool {
		if w.silent(l.now) <= forgetBeats {
			return false
		}
		l.lost += w.report.Capacity
		return true
	})
}

// enter keeps a report, and returns its worker, or nil when there are too many.
func (l *Ledger) enter(r Report) *worker {
	i := slices.IndexFunc(l.workers, func(w *worker) bool { return w.report.Worker == r.Worker })
	switch {
	case i < 0 && len(l.workers) == maxWorkers:
		return nil
	case i < 0:
		i = len(l.workers)
		l.workers = append(l.workers, &worker{brought: r.Lease})
		l.lost = max(0, l.lost-r.Capacity) // it is back, or takes the place of one that is not
	case l.workers[i].report.Epoch != r.Epoch:
		l.workers[i] = &worker{brought: r.Lease}
	}
	w := l.workers[i]
	w.held = lease{min(r.Lease, w.live(l.now)), w.granted.until}
	w.report, w.heard = r, l.now
	return w
}

// sums are the fleet's figures at one moment.
type sums struct {
	capacity           float64 // of the live workers
	silent             float64 // of those who fell silent
	reserve, declared  float64
	inFlight, demanded PerClass
	leaving            float64 // non-critical requests of workers that are shutting down
	leases             float64 // live ones
	live, stale, left  int
	workers            []*worker // the live ones
	demands, limits    []float64 // of them
}

func (l *Ledger) sum() (s sums) {
	s.silent = l.lost
	for _, w := range l.workers {
		s.leases += w.live(l.now)
		silent := w.silent(l.now) > leaseBeats
		switch {
		case w.report.Draining:
			s.left++
		case silent:
			s.stale++
			s.silent += w.report.Capacity
		default:
			s.live++
			s.capacity += w.report.Capacity
			s.workers = append(s.workers, w)
			s.demands = append(s.demands, nonCritical(&w.report.Demanded))
			s.limits = append(s.limits, limitOf(&w.report))
		}
		if !silent {
			s.add(&w.report)
		}
	}
	return s
}

// add counts the usage of one worker. Where settings differ, during a change
// of them, the most careful ones hold.
func (s *sums) add(r *Report) {
	for i := range s.inFlight {
		s.inFlight[i] += r.InFlight[i]
		s.demanded[i] += r.Demanded[i]
	}
	if r.Draining {
		s.leaving += nonCritical(&r.InFlight)
		return
	}
	s.reserve = max(s.reserve, r.Reserve)
	if r.Declared > 0 && (s.declared == 0 || r.Declared < s.declared) {
		s.declared = r.Declared
	}
}

func (s *sums) view() View {
	capacity, low := trusted(s.capacity, s.silent)
	if s.declared > 0 {
		capacity = s.declared
	}
	return View{
		Capacity: capacity, InFlight: s.inFlight, Demanded: s.demanded,
		Live: s.live, Stale: s.stale, Drained: s.left, LowTrust: low,
	}
}

// grant is the lease of one worker.
func (l *Ledger) grant(w *worker, s *sums, learning bool) float64 {
	v := s.view()
	budget := budget(v.Capacity, s.reserve, s.inFlight[priority.Critical.Index()])
	others := s.leases - w.live(l.now)
	if w.report.Draining {
		return granted(nonCritical(&w.report.InFlight), budget, others)
	}
	if learning && w.brought > 0 {
		return w.brought
	}
	if learning {
		return granted(ownShare(&w.report, budget), budget, others)
	}
	share := fair(budget-s.leaving, s.demands, s.limits)[slices.Index(s.workers, w)]
	return granted(share, budget, others)
}

// budget is what non-critical traffic may use of a capacity.
func budget(capacity, reserve, critical float64) float64 {
	return max(0, (1-reserve)*capacity-critical)
}

// granted is a share, cut to what the leases of others leave of the budget.
func granted(share, budget, others float64) float64 {
	return max(0, min(share, budget-others))
}

// limitOf is how large a lease can be of use to a worker.
func limitOf(r *Report) float64 {
	if r.Capacity == 0 {
		return math.Inf(1) // not known
	}
	return r.Capacity
}

// fair shares a budget by demand, and what is left then evenly, none above its
// worker's limit: what no worker can use is there at once for the next to join.
// Everybody counts as demanding a tenth of an even share at least, so that a
// worker that was idle has room to start while the others are at their limits.
func fair(budget float64, demands, limits []float64) []float64 {
	start := budget / float64(len(demands)) / 10
	shares, room := make([]float64, len(demands)), make([]float64, len(demands))
	for i, d := range demands {
		room[i] = min(max(d, start), limits[i])
	}
	budget -= spread(budget, room, shares)
	for i := range room {
		room[i] = limits[i] - shares[i]
	}
	spread(budget, room, shares)
	return shares
}

// spread adds to shares what a budget has for each room, and returns the sum.
func spread(budget float64, room, shares []float64) (used float64) {
	total := 0.0
	for _, r := range room {
		total += r
	}
	for i, s := range limit.MaxMin(min(budget, total), room) {
		shares[i] += s
		used += s
	}
	return used
}

// ownShare is what a worker may use of a fleet whose other members are not
// known yet: what its own capacity allows.
func ownShare(r *Report, budget float64) float64 {
	if r.Capacity == 0 {
		return budget
	}
	return (1-r.Reserve)*r.Capacity - r.InFlight[priority.Critical.Index()]
}

// trusted is the capacity to go by when workers that could carry lost have
// fallen silent. Many who fall silent at once are rather cut off than dead: at
// least half of what there was is kept, and low says so.
func trusted(live, lost float64) (capacity float64, low bool) {
	return max(live, (live+lost)/2), live < lost
}

// lostHalfLife is how fast lost capacity is given up for dead.
const lostHalfLife = 5 * time.Minute

// fade is what is left of lost capacity after some nanoseconds.
func fade(lost float64, elapsed int64) float64 {
	lost *= math.Exp2(-float64(elapsed) / float64(lostHalfLife))
	if lost < 0.5 {
		return 0
	}
	return lost
}

func nonCritical(p *PerClass) float64 { return p.Sum() - p[priority.Critical.Index()] }

// sane is a report whose figures can be reckoned with, whoever sent it.
func sane(r Report) Report {
	if r.Beat == 0 {
		r.Beat = DefaultBeat
	}
	r.Beat = min(max(r.Beat, 10*time.Millisecond), time.Minute)
	r.Reserve = min(figure(r.Reserve), 1)
	r.Capacity, r.Declared, r.Lease = figure(r.Capacity), figure(r.Declared), figure(r.Lease)
	if r.Draining {
		r.Capacity = 0
	}
	for i := range r.InFlight {
		r.InFlight[i], r.Demanded[i] = figure(r.InFlight[i]), figure(r.Demanded[i])
	}
	return r
}

// figure is a number of requests: from 0 to a billion, whatever it was.
func figure(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, 0), 1e9)
}
