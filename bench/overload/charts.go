package overload

import (
	"fmt"
	"math"
	"strings"
)

// Charts are the pictures of a report, by file name: what becomes of critical
// calls and of all over the offered load, and over the time of each experiment.
func (r *Report) Charts() map[string]Chart {
	charts := map[string]Chart{}
	over := Chart{X: "offered load, times the capacity", Top: 1}
	critical, goodput := over, over
	critical.Title, critical.Y = "Critical calls answered in time", "of the critical calls offered, at the height"
	goodput.Title, goodput.Y = "Useful answers", "answers in time, of the capacity, at the height"
	for i, c := range Contestants() {
		lines := r.against(c.Name, i)
		if len(lines[0].Points) > 1 {
			critical.Lines, goodput.Lines = append(critical.Lines, lines[0]), append(goodput.Lines, lines[1])
		}
	}
	if len(critical.Lines) > 0 {
		critical.Lines = append(critical.Lines, r.most())
		charts[criticalChart], charts[goodputChart] = critical, goodput
	}
	for _, e := range Experiments() {
		if c := r.through(&e, criticalOf); len(c.Lines) > 0 {
			c.Title, c.Y = e.Name+": "+e.Title, "critical calls answered in time, of those offered in each second"
			charts[chartOf(e.Name)] = c
			c = r.through(&e, goodOf)
			c.Title, c.Y, c.Top = e.Name+": "+e.Title, "answers in time in each second, of the capacity", 1.2
			charts[goodputOf(e.Name)] = c
		}
	}
	return charts
}

// File names of charts.
const (
	criticalChart = "critical.svg"
	goodputChart  = "goodput.svg"
)

func chartOf(experiment string) string   { return strings.ToLower(experiment) + ".svg" }
func goodputOf(experiment string) string { return strings.ToLower(experiment) + "-goodput.svg" }

// multiples are the steps of E1.
var multiples = []struct {
	experiment string
	multiple   float64
}{{"E1-2x", 2}, {"E1-3x", 3}, {"E1-4x", 4}, {"E1-8x", 8}}

// against is a contestant's critical share and goodput over the offered load,
// with the better of its two settings.
func (r *Report) against(contestant string, style int) [2]Line {
	line := Line{Name: contestant, Style: style, Thick: contestant == plimsollName}
	lines := [2]Line{line, line}
	for _, m := range multiples {
		if row, ok := r.better(m.experiment, contestant); ok {
			lines[0].Points = append(lines[0].Points, Point{m.multiple, row.Critical.Median})
			lines[1].Points = append(lines[1].Points, Point{m.multiple, row.Goodput.Median})
		}
	}
	return lines
}

// plimsollName is the contestant whose line is thick.
const plimsollName = "plimsoll"

// most is the share of critical calls that can be answered, over the offered
// load.
func (r *Report) most() Line {
	line := Line{Name: bound, Style: Bound}
	const every = 0.25
	var e Experiment // of the usual mix, as all of E1
	from, to := math.Inf(1), 0.0
	for _, m := range multiples {
		if len(r.of(m.experiment)) > 0 {
			from, to = min(from, m.multiple), max(to, m.multiple)
		}
	}
	for x := from; x <= to; x += every {
		line.Points = append(line.Points, Point{x, e.able(x)})
	}
	return line
}

const bound = "all that can be"

// able is the share of critical calls that can be answered at a multiple.
func (e *Experiment) able(multiple float64) float64 {
	return min(1, 1/(multiple*criticalShare(e.Mix)))
}

// better is the better row of a contestant: rows come with the best first.
func (r *Report) better(experiment, contestant string) (Row, bool) {
	for _, row := range r.Rows(experiment) {
		if row.Contestant == contestant {
			return row, true
		}
	}
	return Row{}, false
}

// figure is what a chart over time shows of a second, and what it can be at
// most at a multiple of the capacity.
type figure struct {
	of   func(*Second) float64
	most func(e *Experiment, multiple float64) float64
}

var criticalOf = figure{
	func(s *Second) float64 { return share(s.CriticalGood, s.CriticalOffered) }, (*Experiment).able,
}

var goodOf = figure{
	func(s *Second) float64 { return s.Good }, func(_ *Experiment, multiple float64) float64 { return min(1, multiple) },
}

// through is a figure in each second of an experiment.
func (r *Report) through(e *Experiment, f figure) Chart {
	c := Chart{X: "seconds since the start", Top: 1}
	most := Line{Name: bound, Style: Bound}
	at := 0.0
	for i, phase := range e.Phases {
		to := at + phase.Duration.Seconds()
		if i == max(e.Judged, 0) {
			c.NameFrom, c.NameTo = at+1, to
		}
		c.Marks = append(c.Marks, Mark{at, fmt.Sprintf("%s, %gx", phase.Name, phase.Multiple)})
		most.Points = append(most.Points, Point{at, f.most(e, phase.Multiple)}, Point{to - 1, f.most(e, phase.Multiple)})
		at = to
	}
	for i, contestant := range Contestants() {
		row, ok := r.better(e.Name, contestant.Name)
		if !ok {
			continue
		}
		line := Line{Name: contestant.Name, Style: i, Thick: contestant.Name == plimsollName}
		for _, s := range row.Seconds {
			line.Points = append(line.Points, Point{s.At, f.of(&s)})
		}
		c.Lines = append(c.Lines, line)
	}
	if len(c.Lines) > 0 {
		c.Lines = append(c.Lines, most)
	}
	return c
}
