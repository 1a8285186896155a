package overload

import (
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Result is what a run has shown. Shares are of what was offered, 0 … 1.
type Result struct {
	Run
	At       time.Time // when it had ended
	Capacity float64   // in calls a second
	Seconds  []Second

	// Of the phase that is judged, or of the whole run.
	Goodput     float64                 // share of the capacity, or of what was offered when that is less
	Good        [priority.Count]float64 // share answered in time, by class, least important first
	WorstSecond float64                 // the least share of critical in one second
	Late        float64                 // late answers for each good one
	P50, P99    time.Duration           // of the good ones

	// FirstRefusal is how long after the step anything was refused, in seconds;
	// -1: nothing was.
	FirstRefusal float64

	Streams    float64 // share of the streams that were admitted
	FalseShed  float64 // share refused before the step
	Recovery   float64 // seconds after the step down until every class has 99 %; -1: not in this run
	Changes    float64 // how often a minute refusing began or ended
	Attempts   float64 // for each arrival
	Lateness   time.Duration
	Processor  float64 // seconds of processor time a second
	Unreliable bool    // the driver itself was late: the machine had no time for it
}

// Second is one second of a run, in calls a second.
type Second struct {
	At                          float64
	Offered, Good, Late, Refuse float64
	CriticalOffered             float64
	CriticalGood                float64
}

// inTime is the share that counts as everything.
const inTime = 0.99

func newResult(r Run, e *Experiment, g *load.Generator, processor float64, d *driver) *Result {
	report := g.Report()
	out := &Result{Run: r, Capacity: d.backend.capacity(), FirstRefusal: -1, Lateness: report.Lateness(inTime), Recovery: -1}
	for i, second := range report.Seconds() {
		cells := report.Between(i, i+1)
		out.Seconds = append(out.Seconds, newSecond(second, &cells))
	}
	from, to := 0, len(out.Seconds)
	if e.Judged >= 0 {
		from, to = report.Phase(e.Judged)
	}
	out.judge(report, from, to)
	if len(e.Phases) > after {
		out.around(report)
	}
	out.Changes = changes(out.Seconds)
	all := report.Between(0, len(out.Seconds))
	sum := all.All()
	for _, n := range e.Streams {
		out.Streams = ratio(float64(d.open.Load()), float64(n))
	}
	if at := d.refused.Load(); at > 0 {
		out.FirstRefusal = time.Duration(at).Seconds()
	}
	out.Attempts = ratio(float64(d.attempts.Load()), float64(sum.Offered))
	length := g.Plan()
	out.Processor = processor / length.Length().Seconds()
	out.Unreliable = out.Lateness > patience/5
	return out
}

func newSecond(s load.Second, cells *load.Cells) Second {
	all, width := cells.All(), s.Width.Seconds()
	critical := &cells[priority.Critical.Index()]
	return Second{
		At: s.From.Seconds(), Offered: float64(all.Offered) / width, Good: float64(all.Good) / width,
		Late: float64(all.Late+all.Unsent) / width, Refuse: float64(all.RefusedAll()) / width,
		CriticalOffered: float64(critical.Offered) / width, CriticalGood: float64(critical.Good) / width,
	}
}

// judge fills in the figures of the seconds [from, to).
func (r *Result) judge(report *load.Report, from, to int) {
	cells := report.Between(from, to)
	all := cells.All()
	length := 0.0
	for _, s := range report.Seconds()[from:to] {
		length += s.Width.Seconds()
	}
	r.Goodput = ratio(float64(all.Good), min(r.Capacity*length, float64(all.Offered)))
	for i := range cells {
		r.Good[i] = cells[i].GoodShare()
	}
	r.WorstSecond = 1
	for _, s := range r.Seconds[from:to] {
		r.WorstSecond = min(r.WorstSecond, share(s.CriticalGood, s.CriticalOffered))
	}
	r.Late = ratio(float64(all.Late+all.Unsent), float64(all.Good))
	r.P50, r.P99 = all.Latency.Quantile(0.5), all.Latency.Quantile(0.99)
}

// around fills in what was refused before the step, and when all is well
// after it.
func (r *Result) around(report *load.Report) {
	from, to := report.Phase(before)
	calmly := report.Between(from, to)
	all := calmly.All()
	r.FalseShed = ratio(float64(all.RefusedAll()), float64(all.Offered))
	from, to = report.Phase(after)
	for i := to - 1; i >= from; i-- {
		cells := report.Between(i, i+1)
		if slices.ContainsFunc(cells[:], func(c load.Cell) bool { return c.GoodShare() < inTime }) {
			break
		}
		r.Recovery = float64(i - from)
	}
}

// changes is how often a minute the refusing began or ended: more than a
// twentieth was refused in one second, and less than a hundredth in another.
func changes(seconds []Second) float64 {
	const begun, ended = 0.05, 0.01
	n, on := 0, false
	for _, s := range seconds {
		if refused := ratio(s.Refuse, s.Offered); !on && refused > begun || on && refused < ended {
			n, on = n+1, !on
		}
	}
	return float64(n) * 60 / float64(len(seconds))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// share is a ratio that is whole when there was nothing to do.
func share(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}
