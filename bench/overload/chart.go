package overload

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Chart is lines over a common axis, drawn as SVG.
type Chart struct {
	Title, X, Y string
	Lines       []Line
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

// The drawing, in pixels.
const (
	width, chartHeight = 860, 420
	left, right        = 60, 250
	top, bottom        = 46, 50
)

var colours = []string{"#0b5fff", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0e7490", "#a16207", "#475569", "#be185d", "#4d7c0f"}

// SVG draws the chart.
func (c *Chart) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, chartHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/><text x="%d" y="24" font-size="15" font-weight="600">%s</text>`+"\n",
		width, chartHeight, left, html.EscapeString(c.Title))
	from, to := c.domain()
	x := func(v float64) float64 { return left + (v-from)/max(to-from, 1e-9)*(width-left-right) }
	y := func(v float64) float64 {
		return chartHeight - bottom - min(v, c.Top)/c.Top*(chartHeight-top-bottom)
	}
	c.axes(&b, x, y)
	for i, line := range c.Lines {
		colour, stroke := colours[i%len(colours)], 1.5
		if line.Thick {
			stroke = 3.5
		}
		var path strings.Builder
		for j, p := range line.Points {
			fmt.Fprintf(&path, "%s%.1f %.1f ", map[bool]string{true: "M", false: "L"}[j == 0], x(p.X), y(p.Y))
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="%.1f" stroke-linejoin="round"/>`+"\n", path.String(), colour, stroke)
		at := top + 18*i
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s" stroke-width="%.1f"/><text x="%d" y="%d">%s</text>`+"\n",
			width-right+16, width-right+40, at, at, colour, stroke, width-right+46, at+4, html.EscapeString(line.Name))
	}
	b.WriteString("</svg>\n")
	return b.String()
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

func (c *Chart) axes(b *strings.Builder, x, y func(float64) float64) {
	const steps = 5
	for i := range steps + 1 {
		v := c.Top * float64(i) / steps
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#e2e8f0"/><text x="%d" y="%.1f" text-anchor="end" fill="#475569">%.0f %%</text>`+"\n",
			left, width-right, y(v), y(v), left-8, y(v)+4, 100*v)
	}
	seen := map[float64]bool{}
	from, to := c.domain()
	every := max(1, math.Round((to-from)/10))
	for _, line := range c.Lines {
		for _, p := range line.Points {
			if seen[p.X] || math.Mod(p.X-from, every) != 0 {
				continue
			}
			seen[p.X] = true
			fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#475569">%g</text>`+"\n", x(p.X), chartHeight-bottom+18, p.X)
		}
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#475569">%s</text>`+"\n", left+(width-left-right)/2, chartHeight-10, html.EscapeString(c.X))
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#475569">%s</text>`+"\n", left, top-8, html.EscapeString(c.Y))
}

// Charts are the pictures of a report, by file name.
func (r *Report) Charts() map[string]Chart {
	charts := map[string]Chart{}
	critical := Chart{Title: "Critical calls answered in time", X: "offered load, times the capacity", Y: "of the critical calls offered", Top: 1}
	goodput := Chart{Title: "Useful answers", X: critical.X, Y: "of the capacity", Top: 1}
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
	c := Chart{Title: e.Name + ": " + e.Title, X: "seconds", Y: "of the critical calls of each second, answered in time", Top: 1}
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
