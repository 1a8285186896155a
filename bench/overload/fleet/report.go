package fleet

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/bench/overload"
	"github.com/plimsoll-go/plimsoll/internal/load"
)

const continueIt = syscall.SIGCONT

// Report is what the incident has shown.
type Report struct {
	Date    time.Time
	Able    float64 // what all workers together can do, in calls a second
	Slow    int     // how many workers take twice as long as the others
	Steps   []Step
	Seconds []Second
	Samples []Sample
	// Calls is how many commands Redis has carried out for each request.
	Calls float64
	// Commands is how many it has carried out in a second for each worker that
	// ran. They are heartbeats, whose number does not depend on that of requests.
	Commands float64
	// Lateness is how late the driver itself was, at the 99th percentile.
	Lateness time.Duration
}

// Step is a stretch of the incident. Shares are of what was offered.
type Step struct {
	Name     string
	Seconds  float64
	Critical float64 // answered in time
	Worst    float64 // the same in the worst second
	Refused  float64 // critical ones that somebody refused
	Fate     fate    // of attempts
	Goodput  float64 // of what the workers that ran can do
	ByFleet  float64 // refused by the fleet's stage
	ByWorker float64 // and by the worker's
	// Above is how many non-critical requests were in flight above what the
	// reserve leaves, on average, and at most in a look.
	Above, MostAbove float64
	// Right is how many seconds it took until the workers' figure of the
	// fleet's capacity was true within a tenth; -1: not in this step.
	Right float64
}

// Second is a second of the incident.
type Second struct{ At, Critical, Goodput float64 }

func newReport(steps []step, seen *load.Report, samples []Sample, c *crew) *Report {
	r := &Report{Date: time.Now(), Able: c.able(), Slow: c.slow, Samples: samples, Lateness: seen.Lateness(0.99)}
	for i, second := range seen.Seconds() {
		cells := seen.Between(i, i+1)
		all := cells.All()
		able := able(samples, second.From.Seconds(), second.To().Seconds()) * second.Width.Seconds()
		r.Seconds = append(r.Seconds, Second{At: second.From.Seconds(), Critical: cells[critical].GoodShare(), Goodput: float64(all.Good) / max(able, 1)})
	}
	from, total := 0.0, 0
	for i, s := range steps {
		to := from + s.Last.Seconds()
		a, b := seen.Phase(i)
		step := newStep(s.Name, seen.Between(a, b), between(samples, from, to))
		step.Seconds, step.Worst, step.Fate = s.Last.Seconds(), 1, c.fates.of(i)
		for _, second := range r.Seconds[a:b] {
			step.Worst = min(step.Worst, second.Critical)
		}
		cells := seen.Between(a, b)
		all := cells.All()
		step.Goodput = float64(all.Good) / max(able(samples, from, to)*step.Seconds, 1)
		total += all.Offered
		r.Steps = append(r.Steps, step)
		from = to
	}
	if n := len(samples); n > 0 {
		calls, seconds := float64(samples[n-1].Calls-samples[0].Calls), samples[n-1].At-samples[0].At
		r.Calls = calls / float64(max(total, 1))
		r.Commands = calls / max(seconds*running(samples), 1)
	}
	return r
}

func newStep(name string, cells load.Cells, samples []Sample) Step {
	all := cells.All()
	offered := float64(max(all.Offered, 1))
	s := Step{
		Name: name, Critical: cells[critical].GoodShare(),
		Refused: float64(cells[critical].RefusedAll()) / float64(max(cells[critical].Offered, 1)),
		ByFleet: float64(all.RefusedBy("fleetshed")) / offered, ByWorker: float64(all.RefusedBy("workershed")) / offered,
		Right: -1,
	}
	for i := range samples {
		above := samples[i].Above()
		s.Above += above / float64(len(samples))
		s.MostAbove = max(s.MostAbove, above)
	}
	for i := len(samples) - 1; i >= 0 && samples[i].right(); i-- {
		s.Right = samples[i].At - samples[0].At
	}
	return s
}

// right reports whether what the fleet says is its capacity is what it is.
func (s *Sample) right() bool { return math.Abs(s.Known-s.Room) <= s.Room/10 }

func between(samples []Sample, from, to float64) (list []Sample) {
	for _, s := range samples {
		if s.At >= from && s.At < to {
			list = append(list, s)
		}
	}
	return list
}

// able is what the workers that ran could do on average, in calls a second.
func able(samples []Sample, from, to float64) (sum float64) {
	list := between(samples, from, to)
	for i := range list {
		sum += list[i].Able / float64(len(list))
	}
	return sum
}

// running is how many workers ran, on average.
func running(samples []Sample) (sum float64) {
	for i := range samples {
		sum += float64(samples[i].Running) / float64(len(samples))
	}
	return sum
}

// usual is the rate of requests of a worker that Redis's commands are told for.
const usual = 500

// Markdown is the report as a page.
func (r *Report) Markdown() string {
	var b strings.Builder
	kind := "Eight workers"
	if r.Slow > 0 {
		kind = fmt.Sprintf("Eight workers, of which %d take twice as long,", r.Slow)
	}
	fmt.Fprintf(&b, "%s. %s of %.0f calls/s in all. Redis carried out %.1f commands/s for each worker, %.4f for each request: "+
		"they are heartbeats, so at %d requests/s a worker it would be %.4f. The driver was late by %v at the 99th percentile.\n\n",
		r.Date.Format(time.DateOnly), kind, r.Able, r.Commands, r.Calls, usual, r.Commands/usual, r.Lateness.Round(time.Millisecond))
	b.WriteString("| | s | critical % | its worst second | critical refused % | went down with a worker | sent to one that was down | late |" +
		" goodput % of those that run | refused by the fleet % | by the worker % | above the reserve, mean | most | capacity right after s |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range r.Steps {
		right := "not in this step"
		if s.Right >= 0 {
			right = fmt.Sprintf("%.1f", s.Right)
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.1f | %.1f | %.1f | %d | %d | %d | %.0f | %.0f | %.0f | %.1f | %.0f | %s |\n",
			s.Name, s.Seconds, 100*s.Critical, 100*s.Worst, 100*s.Refused, s.Fate.WentDown, s.Fate.SentDown, s.Fate.Late,
			100*s.Goodput, 100*s.ByFleet, 100*s.ByWorker, s.Above, s.MostAbove, right)
	}
	b.WriteString("\nThe three columns of counts are attempts of critical calls; one whose connection broke was sent once more.\n")
	if r.Slow > 0 {
		r.bySpeed(&b)
	}
	return b.String()
}

// bySpeed tells the workers of both speeds apart. A balancer that knows nothing
// sends them the same.
func (r *Report) bySpeed(b *strings.Builder) {
	b.WriteString("\n| | workers | calls/s each, of what it can do | critical % | goodput % | refused by the fleet % | by the worker % |\n" +
		"|---|---|---:|---:|---:|---:|---:|\n")
	fast, slow := (&member{}).able(), (&member{slow: true}).able()
	for _, s := range r.Steps {
		s.Fate.Fast.row(b, &s, "fast", fast*float64(size-r.Slow))
		s.Fate.Slow.row(b, &s, "slow", slow*float64(r.Slow))
	}
	b.WriteString("\nWhere workers are killed, figures are of all that there were.\n")
}

func (c *counts) row(b *strings.Builder, s *Step, name string, able float64) {
	all := float64(max(c.All, 1))
	fmt.Fprintf(b, "| %s | %s | %.0f %% | %.1f | %.0f | %.0f | %.0f |\n", s.Name, name, 100*all/(able*s.Seconds),
		100*float64(c.CriticalGood)/float64(max(c.Critical, 1)), 100*float64(c.Good)/min(able*s.Seconds, all), 100*float64(c.ByFleet)/all, 100*float64(c.ByWorker)/all)
}

func (r *Report) title() string {
	if r.Slow > 0 {
		return "E6: eight workers, half of them half as fast, and one Redis"
	}
	return "E6: eight workers and one Redis, at 1.2 times what they can do"
}

// Chart is the incident as a picture.
func (r *Report) Chart() overload.Chart {
	c := overload.Chart{Title: r.title(), X: "seconds", Y: "of what was offered; of what the workers that run can do; of what all have room for", Top: 1}
	answered := overload.Line{Name: "critical, in time", Thick: true}
	goodput := overload.Line{Name: "goodput", Style: 1}
	for _, s := range r.Seconds {
		answered.Points = append(answered.Points, overload.Point{X: s.At, Y: s.Critical})
		goodput.Points = append(goodput.Points, overload.Point{X: s.At, Y: s.Goodput})
	}
	known := overload.Line{Name: "capacity as known", Style: 2}
	for _, s := range r.Samples {
		known.Points = append(known.Points, overload.Point{X: s.At, Y: s.Known / (size * inFlight)})
	}
	c.Lines = []overload.Line{answered, goodput, known}
	at := 0.0
	for _, s := range r.Steps {
		c.Marks = append(c.Marks, overload.Mark{X: at, Text: s.Name})
		at += s.Seconds
	}
	return c
}
