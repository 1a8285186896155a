package observe

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/observability"
)

// curves draws lines over time, or areas that add up.
func (p *picture) curves(panel *observability.Panel, lines []line) {
	var below []map[int64]float64
	if panel.Kind == observability.Stacked {
		lines, below = stacked(lines)
	}
	low, high := bounds(panel, lines)
	y := func(v float64) float64 { return plotTop + plotHeight*(1-(v-low)/(high-low)) }
	for i := range 3 {
		v := low + (high-low)*float64(i)/2
		fmt.Fprintf(p, "<path d=\"M%d %.1fH%d\" stroke=\"#e2e8f0\"/><text x=\"%d\" y=\"%.1f\" class=\"right\">%s</text>\n", plotLeft, y(v), plotLeft+p.room(), plotLeft-5, y(v)+3, amount(v, panel.Unit))
	}
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		if below != nil {
			fmt.Fprintf(p, "<path d=\"%s\" fill=\"%s\" fill-opacity=\".55\" stroke=\"none\"/>\n", p.area(l, below[i], y), l.colour)
		}
		fmt.Fprintf(p, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.4\" stroke-linejoin=\"round\"/>\n", p.path(l.points, y), l.colour)
	}
	for _, step := range panel.Steps {
		if panel.Kind == observability.Lines && step.From > low && step.From < high {
			fmt.Fprintf(p, "<path d=\"M%d %.1fH%d\" stroke=\"%s\" stroke-dasharray=\"5 4\" stroke-opacity=\".7\"/>\n", plotLeft, y(step.From), plotLeft+p.room(), paint(step.Colour))
		}
	}
}

// path goes through points, and is broken where some are missing.
func (p *picture) path(points []Point, y func(float64) float64) string {
	var b strings.Builder
	last := time.Time{}
	for _, point := range points {
		verb := "L"
		if point.At.Sub(last) > 1500*time.Millisecond {
			verb = "M"
		}
		last = point.At
		fmt.Fprintf(&b, "%s%.1f %.1f", verb, p.x(point.At), y(point.Value))
	}
	if len(points) == 1 {
		b.WriteString("h1")
	}
	return b.String()
}

func (p *picture) area(l *line, below map[int64]float64, y func(float64) float64) string {
	if len(l.points) == 0 {
		return ""
	}
	var b strings.Builder
	for i, point := range l.points {
		fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(i, 1)], p.x(point.At), y(point.Value))
	}
	for _, point := range slices.Backward(l.points) {
		fmt.Fprintf(&b, "L%.1f %.1f", p.x(point.At), y(below[point.At.UnixMilli()]))
	}
	return b.String() + "Z"
}

// stacked puts each line on those before it; below is what each stands on.
func stacked(lines []line) (sums []line, below []map[int64]float64) {
	height := map[int64]float64{}
	for _, l := range lines {
		base, points := map[int64]float64{}, make([]Point, len(l.points))
		for i, point := range l.points {
			at := point.At.UnixMilli()
			base[at] = height[at]
			height[at] += point.Value
			points[i] = Point{point.At, height[at]}
		}
		sums, below = append(sums, line{l.name, l.colour, points}), append(below, base)
	}
	return sums, below
}

// bounds is from where to where an axis goes.
func bounds(panel *observability.Panel, lines []line) (low, high float64) {
	for _, l := range lines {
		for _, point := range l.points {
			low, high = min(low, point.Value), max(high, point.Value)
		}
	}
	if panel.Max != nil {
		high = max(high, *panel.Max)
	}
	if low < 0 {
		low = -round(-low)
	}
	if high > 0 {
		return low, round(high)
	}
	return low, low + 1
}

// round is the next number above that is 1, 1.5, 2, 3, 4, 5, 6 or 8 of a power
// of ten.
func round(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if v <= n*power*(1+1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// bands draws a row for each series, in the colour of its value.
func (p *picture) bands(panel *observability.Panel, lines []line) {
	shown := lines[:min(len(lines), mostNamed)]
	height := min(float64(cardHeight-plotTop-10)/float64(len(shown)), 24)
	for i, l := range shown {
		top := plotTop + height*float64(i)
		for _, s := range stretches(panel, l.points) {
			from, to := p.x(s.from), p.x(s.to)
			fmt.Fprintf(p, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>", from, top, to-from, height-3, s.colour)
		}
		name := fmt.Sprintf("%s  (%s)", l.name, reached(l.points, panel.Unit))
		if i == mostNamed-1 && len(lines) > mostNamed {
			name = fmt.Sprintf("and %d more", len(lines)-mostNamed+1)
		}
		fmt.Fprintf(p, "<text x=\"%d\" y=\"%.1f\" class=\"in\">%s</text>\n", plotLeft+4, top+height/2+2, html.EscapeString(short(name, p.room()/5)))
	}
}

// stretch is a time in which a series has one colour.
type stretch struct {
	from, to time.Time
	colour   string
}

// stretches joins points of one colour; each lasts until the next, or a second.
func stretches(panel *observability.Panel, points []Point) (list []stretch) {
	for i, point := range points {
		until := point.At.Add(time.Second)
		if i+1 == len(points) {
			until = point.At
		}
		colour := colourOf(panel, point.Value)
		if n := len(list); n > 0 && list[n-1].colour == colour && !point.At.After(list[n-1].to) {
			list[n-1].to = until
			continue
		}
		list = append(list, stretch{point.At, until, colour})
	}
	return list
}

// reached is the values that a series had, from the least to the greatest.
func reached(points []Point, unit observability.Unit) string {
	by := func(a, b Point) int { return cmp.Compare(a.Value, b.Value) }
	least, greatest := amount(slices.MinFunc(points, by).Value, unit), amount(slices.MaxFunc(points, by).Value, unit)
	if least == greatest {
		return least
	}
	return least + " … " + greatest
}

func colourOf(panel *observability.Panel, value float64) string {
	colour := "#bfdbfe"
	for _, step := range panel.Steps {
		if value >= step.From {
			colour = paint(step.Colour)
		}
	}
	return colour
}

func paint(c observability.Colour) string {
	return map[observability.Colour]string{observability.Green: "#86efac", observability.Yellow: "#fcd34d", observability.Red: "#f87171"}[c]
}

// numbers writes the last value of each series.
func (p *picture) numbers(panel *observability.Panel, lines []line) {
	shown := lines[:min(len(lines), 4)]
	for i, l := range shown {
		y := plotTop + 30 + i*40
		p.text(20, y, "big", amount(l.points[len(l.points)-1].Value, panel.Unit))
		p.text(96, y-4, "note", short(l.name, 46))
	}
}

// amount is a value with its unit.
func amount(v float64, unit observability.Unit) string {
	switch unit {
	case observability.Seconds:
		switch a := math.Abs(v); {
		case a == 0:
			return "0"
		case a < 1e-3:
			return number(v*1e6) + " µs"
		case a < 1:
			return number(v*1e3) + " ms"
		}
		return number(v) + " s"
	case observability.Share:
		return number(v*100) + " %"
	case observability.Bytes:
		return number(v/1e6) + " MB"
	case observability.PerSecond:
		return number(v) + "/s"
	case observability.Plain:
	}
	return number(v)
}

func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e6:
		return number(v/1e6) + "M"
	case a >= 1e4:
		return number(v/1e3) + "k"
	}
	return fmt.Sprintf("%.4g", math.Round(v*1000)/1000)
}

func compareHighest(a, b line) int { return cmp.Compare(highest(a), highest(b)) }

func highest(l line) (most float64) {
	for _, point := range l.points {
		most = max(most, point.Value)
	}
	return most
}
