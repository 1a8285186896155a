package overload

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Chart is lines over a common axis, drawn as SVG. Each line has its name beside
// the drawing with a piece of it, at about its height.
type Chart struct {
	Title, X, Y string
	Lines       []Line
	Marks       []Mark  // moments at which something happens
	Top         float64 // of the vertical axis, which begins at 0
	// NameFrom and NameTo are where the heights of lines count for their names,
	// on the horizontal axis; both 0: their last points.
	NameFrom, NameTo float64
}

// Line is a series of points; those of ours are drawn thick.
type Line struct {
	Name   string
	Points []Point
	Thick  bool
	Style  int // which colour and dashes: those of one name are alike in all charts
}

// Bound is the Style of a line that says what can be at most.
const Bound = -1

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

// look is how a line is drawn.
func (l *Line) look() (colour, dash string, stroke float64) {
	switch {
	case l.Style == Bound:
		return "#94a3b8", "1 4", 2
	case l.Thick:
		return colours[l.Style%len(colours)], "", 4.5
	}
	return colours[l.Style%len(colours)], dashes[l.Style%len(dashes)], 1.8
}

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
	for i := range c.Lines { // ours first: it is thick, and shows beside what lies on it
		c.Lines[i].draw(&b, p)
	}
	c.happenings(&b, p)
	c.labels(&b, p)
	b.WriteString("</svg>\n")
	return b.String()
}

func (l *Line) draw(b *strings.Builder, p plot) {
	colour, dash, stroke := l.look()
	var path strings.Builder
	for j, point := range l.Points {
		fmt.Fprintf(&path, "%s%.1f %.1f ", map[bool]string{true: "M", false: "L"}[j == 0], p.x(point.X), p.y(point.Y))
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="%.1f" stroke-dasharray="%s" stroke-linejoin="round"/>`+"\n",
		path.String(), colour, stroke, dash)
}

// label is a name beside the drawing.
type label struct {
	line   int
	at, to float64 // how high its line is, and where the name is: below the one above
}

// labels writes each name at the height of its line, or as close below or above
// as the others leave room.
func (c *Chart) labels(b *strings.Builder, p plot) {
	var list []label
	for i := range c.Lines {
		if len(c.Lines[i].Points) > 0 {
			at := p.y(c.height(&c.Lines[i]))
			list = append(list, label{i, at, at})
		}
	}
	spread1D(list)
	const sample, from = 30, width - right + 16
	for _, l := range list {
		line := &c.Lines[l.line]
		colour, dash, stroke := line.look()
		weight := 400
		if line.Thick {
			weight = 700
		}
		fmt.Fprintf(b, `<path d="M%d %.1f h%d" stroke="%s" stroke-width="%.1f" stroke-dasharray="%s"/><text x="%d" y="%.1f" fill="#1e293b" font-weight="%d">%s</text>`+"\n",
			from, l.to, sample, colour, stroke, dash, from+sample+8, l.to+4, weight, html.EscapeString(line.Name))
	}
}

// height is the mean height of a line where names are given.
func (c *Chart) height(l *Line) float64 {
	sum, n := 0.0, 0
	for _, point := range l.Points {
		if point.X >= c.NameFrom && point.X < c.NameTo {
			sum, n = sum+point.Y, n+1
		}
	}
	if n == 0 {
		return l.Points[len(l.Points)-1].Y
	}
	return sum / float64(n)
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

// marks draws a line at each moment.
func (c *Chart) marks(b *strings.Builder, p plot) {
	for _, m := range c.Marks {
		fmt.Fprintf(b, `<path d="M%.1f %d V%d" stroke="#94a3b8" stroke-dasharray="2 4"/>`+"\n", p.x(m.X), top, chartHeight-bottom)
	}
}

// happenings says along the moments what happens, over the lines.
func (c *Chart) happenings(b *strings.Builder, p plot) {
	for _, m := range c.Marks {
		fmt.Fprintf(b, `<text transform="translate(%.1f %d) rotate(-90)" font-size="11" fill="#475569" stroke="#fff" stroke-width="3" paint-order="stroke">%s</text>`+"\n",
			p.x(m.X)+12, chartHeight-bottom-6, html.EscapeString(m.Text))
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
	const fifth = 0.2
	steps := int(math.Round(c.Top / fifth))
	for i := range steps + 1 {
		v := fifth * float64(i)
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
			if line.Style != Bound {
				list = append(list, p.X)
			}
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
