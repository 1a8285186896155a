package overload

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Chart is lines over a common axis, drawn as SVG. Each line has its name at
// its end, in its colour.
type Chart struct {
	Title, X, Y string
	Lines       []Line
	Marks       []Mark  // moments at which something happens
	Top         float64 // of the vertical axis, which begins at 0
}

// Line is a series of points; those of ours are drawn thick.
type Line struct {
	Name   string
	Points []Point
	Thick  bool
}

// Point is a value and where it lies.
type Point struct{ X, Y float64 }

// Mark is a moment with a name.
type Mark struct {
	X    float64
	Text string
}

// The drawing, in pixels.
const (
	width, chartHeight = 900, 440
	left, right        = 60, 220
	top, bottom        = 60, 54
	lineHeight         = 16 // of a label
)

// colours can be told apart by people who see fewer of them; the first is ours.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b"}

// dashes tell lines apart without colours.
var dashes = []string{"", "7 3", "2 3", "9 3 2 3", "12 4"}

// plot maps values to pixels.
type plot struct{ from, to, top float64 }

func (p plot) x(v float64) float64 {
	return left + (v-p.from)/max(p.to-p.from, 1e-9)*(width-left-right)
}

func (p plot) y(v float64) float64 {
	return chartHeight - bottom - min(max(v, 0), p.top)/p.top*(chartHeight-top-bottom)
}

// SVG draws the chart.
func (c *Chart) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="system-ui, sans-serif" font-size="12">`+"\n",
		width, chartHeight, html.EscapeString(c.Title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/><text x="%d" y="24" font-size="15" font-weight="600">%s</text>`+"\n",
		width, chartHeight, left, html.EscapeString(c.Title))
	p := plot{top: c.Top}
	p.from, p.to = c.domain()
	c.axes(&b, p)
	c.marks(&b, p)
	for i, line := range slices.Backward(c.Lines) { // ours on top
		draw(&b, p, &line, i)
	}
	c.labels(&b, p)
	b.WriteString("</svg>\n")
	return b.String()
}

func draw(b *strings.Builder, p plot, line *Line, i int) {
	stroke := 1.6
	if line.Thick {
		stroke = 3.5
	}
	var path strings.Builder
	for j, point := range line.Points {
		fmt.Fprintf(&path, "%s%.1f %.1f ", map[bool]string{true: "M", false: "L"}[j == 0], p.x(point.X), p.y(point.Y))
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="%.1f" stroke-dasharray="%s" stroke-linejoin="round"/>`+"\n",
		path.String(), colours[i%len(colours)], stroke, dashes[i%len(dashes)])
}

// label is a name beside the end of its line.
type label struct {
	line   int
	at, to float64 // where the line ends, and where the name is: below the one above
}

// labels writes each name at the end of its line, or as close below or above as
// the others leave room.
func (c *Chart) labels(b *strings.Builder, p plot) {
	var list []label
	for i, line := range c.Lines {
		if n := len(line.Points); n > 0 {
			at := p.y(line.Points[n-1].Y)
			list = append(list, label{i, at, at})
		}
	}
	spread1D(list)
	for _, l := range list {
		line := &c.Lines[l.line]
		colour, weight := colours[l.line%len(colours)], 400
		if line.Thick {
			weight = 700
		}
		end := p.x(line.Points[len(line.Points)-1].X)
		fmt.Fprintf(b, `<path d="M%.1f %.1f L%d %.1f" fill="none" stroke="%s" stroke-width="0.7"/><text x="%d" y="%.1f" fill="%s" font-weight="%d">%s</text>`+"\n",
			end+2, l.at, width-right+18, l.to, colour, width-right+22, l.to+4, colour, weight, html.EscapeString(line.Name))
	}
}

// spread1D moves labels apart: down where they overlap, and then up again where
// they left the drawing.
func spread1D(list []label) {
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(a.at, b.at) })
	for i := range list[min(1, len(list)):] {
		list[i+1].to = max(list[i+1].to, list[i].to+lineHeight)
	}
	lowest := float64(chartHeight - bottom)
	for i := range slices.Backward(list) {
		list[i].to = min(list[i].to, lowest)
		lowest = list[i].to - lineHeight
	}
}

// marks draws a line at each moment, and says along it what happens.
func (c *Chart) marks(b *strings.Builder, p plot) {
	for _, m := range c.Marks {
		anchor := p.x(m.X)
		fmt.Fprintf(b, `<path d="M%.1f %d V%d" stroke="#94a3b8" stroke-dasharray="2 4"/><text transform="translate(%.1f %d) rotate(-90)" font-size="11" fill="#475569">%s</text>`+"\n",
			anchor, top, chartHeight-bottom, anchor+11, chartHeight-bottom-6, html.EscapeString(m.Text))
	}
}

func (c *Chart) domain() (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, line := range c.Lines {
		for _, p := range line.Points {
			from, to = min(from, p.X), max(to, p.X)
		}
	}
	return from, to
}

// axes draws the scales. The vertical one is in percent.
func (c *Chart) axes(b *strings.Builder, p plot) {
	const steps = 5
	for i := range steps + 1 {
		v := c.Top * float64(i) / steps
		fmt.Fprintf(b, `<path d="M%d %.1f H%d" stroke="#e2e8f0"/><text x="%d" y="%.1f" text-anchor="end" fill="#475569">%.0f %%</text>`+"\n",
			left, p.y(v), width-right, left-8, p.y(v)+4, 100*v)
	}
	for _, v := range c.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %d v4" stroke="#475569"/><text x="%.1f" y="%d" text-anchor="middle" fill="#475569">%g</text>`+"\n",
			p.x(v), chartHeight-bottom, p.x(v), chartHeight-bottom+18, v)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#475569">%s</text>`+"\n", left+(width-left-right)/2, chartHeight-12, html.EscapeString(c.X))
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#475569">%s</text>`+"\n", left, top-12, html.EscapeString(c.Y))
}

// ticks are the points themselves when they are few, and else round steps.
func (c *Chart) ticks() (list []float64) {
	const few = 8
	for _, line := range c.Lines {
		for _, p := range line.Points {
			list = append(list, p.X)
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) <= few {
		return list
	}
	from, to := c.domain()
	list = nil
	every := 1.0
	for _, every = range []float64{1, 2, 5, 10, 20, 50, 100} {
		if (to-from)/every <= 2*few {
			break
		}
	}
	for v := math.Ceil(from/every) * every; v <= to; v += every {
		list = append(list, v)
	}
	return list
}

// Charts are the pictures of a report, by file name.
func (r *Report) Charts() map[string]Chart {
	charts := map[string]Chart{}
	critical := Chart{Title: "Critical calls answered in time", X: "offered load, times the capacity", Y: "of the critical calls offered, at the height", Top: 1}
	goodput := Chart{Title: "Useful answers", X: critical.X, Y: "answers in time, of the capacity, at the height", Top: 1}
	for _, c := range Contestants() {
		lines := r.against(c.Name)
		if len(lines[0].Points) > 1 {
			critical.Lines, goodput.Lines = append(critical.Lines, lines[0]), append(goodput.Lines, lines[1])
		}
	}
	if len(critical.Lines) > 0 {
		charts["critical.svg"], charts["goodput.svg"] = critical, goodput
	}
	for _, e := range Experiments() {
		if c := r.through(&e); len(c.Lines) > 0 {
			charts[strings.ToLower(e.Name)+".svg"] = c
		}
	}
	return charts
}

// multiples are the steps of E1.
var multiples = []struct {
	experiment string
	multiple   float64
}{{"E1-2x", 2}, {"E1-3x", 3}, {"E1-4x", 4}, {"E1-8x", 8}}

// against is a contestant's critical share and goodput over the offered load,
// with the better of its two settings.
func (r *Report) against(contestant string) [2]Line {
	lines := [2]Line{{Name: contestant}, {Name: contestant}}
	lines[0].Thick = contestant == "plimsoll"
	lines[1].Thick = lines[0].Thick
	for _, m := range multiples {
		if row, ok := r.better(m.experiment, contestant); ok {
			lines[0].Points = append(lines[0].Points, Point{m.multiple, row.Critical.Median})
			lines[1].Points = append(lines[1].Points, Point{m.multiple, row.Goodput.Median})
		}
	}
	return lines
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

// through is what became of critical calls in each second of an experiment.
func (r *Report) through(e *Experiment) Chart {
	c := Chart{Title: e.Name + ": " + e.Title, X: "seconds since the start", Y: "critical calls answered in time, of those offered in each second", Top: 1}
	at := 0.0
	for _, phase := range e.Phases {
		c.Marks = append(c.Marks, Mark{at, fmt.Sprintf("%s, %gx", phase.Name, phase.Multiple)})
		at += phase.Duration.Seconds()
	}
	for _, contestant := range Contestants() {
		row, ok := r.better(e.Name, contestant.Name)
		if !ok {
			continue
		}
		line := Line{Name: contestant.Name, Thick: contestant.Name == "plimsoll"}
		for _, s := range row.Seconds {
			line.Points = append(line.Points, Point{s.At, share(s.CriticalGood, s.CriticalOffered)})
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
