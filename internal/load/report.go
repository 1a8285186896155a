package load

import (
	"sync"
	"time"
)

// Second is a stretch of at most one second that lies within one phase.
// Arrivals belong to the second in which they were planned.
type Second struct {
	Phase int
	From  time.Duration // since the start of the run
	Width time.Duration // one second; less only for the last of a phase
}

// To is where the second ends.
func (s Second) To() time.Duration { return s.From + s.Width }

// Report is what a run has counted so far. All methods may be called while the
// run goes on.
type Report struct {
	seconds  []Second
	deadline time.Duration

	mu    sync.Mutex // guards the fields below
	cells []Cells    // one for each second
	late  Histogram  // how late the generator sent
}

func newReport(p *Plan) *Report {
	r := &Report{deadline: p.Deadline}
	from := time.Duration(0)
	for i, phase := range p.Phases {
		for left := phase.Duration; left > 0; left -= time.Second {
			width := min(left, time.Second)
			r.seconds = append(r.seconds, Second{Phase: i, From: from, Width: width})
			from += width
		}
	}
	r.cells = make([]Cells, len(r.seconds))
	return r
}

// Seconds are the stretches that the run is counted in. Do not change them.
func (r *Report) Seconds() []Second { return r.seconds }

// Settled is the number of leading seconds that have passed when the run has
// lasted for elapsed, and whose arrivals have all come to an end or met their
// deadlines: those fit for judgement.
func (r *Report) Settled(elapsed time.Duration) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.seconds {
		if elapsed < s.To() || elapsed < s.To()+r.deadline && !r.cells[i].settled() {
			return i
		}
	}
	return len(r.seconds)
}

// Phase is the range of seconds [from, to) of one phase.
func (r *Report) Phase(phase int) (from, to int) {
	for i, s := range r.seconds {
		if s.Phase < phase {
			from = i + 1
		}
		if s.Phase <= phase {
			to = i + 1
		}
	}
	return from, to
}

// Between merges the cells of the seconds [from, to).
func (r *Report) Between(from, to int) (sum Cells) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := from; i < to; i++ {
		for class := range sum {
			sum[class].Merge(&r.cells[i][class])
		}
	}
	return sum
}

// Lateness is how long after its planned moment the generator sent an arrival,
// as a quantile (0 … 1) of all. Figures of a run are doubtful when it is not
// small beside the deadline.
func (r *Report) Lateness(q float64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late.Quantile(q)
}

func (r *Report) offered(second int, a *Arrival, late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late.Add(late)
	r.cells[second][a.Class.Index()].Offered++
}

func (r *Report) unsent(second int, a *Arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cells[second][a.Class.Index()].Unsent++
}

// ended counts the answer to an arrival, took after its planned moment.
func (r *Report) ended(second int, a *Arrival, answer Answer, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cells[second][a.Class.Index()].end(answer, took, r.deadline)
}
