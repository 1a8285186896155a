package observe

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/observability"
)

// Measures of a picture, in pixels.
const (
	width      = 1260
	cardHeight = 206
	gap        = 12
	plotLeft   = 50 // within a card
	plotTop    = 40
	plotHeight = 92
	mostNamed  = 8 // series that a legend names
)

// picture is an SVG that grows.
type picture struct {
	strings.Builder
	story *Story
	wide  int // a card of the row, now
}

// Draw is a dashboard's charts as a picture, from what was read for each of
// its panels, by title.
func Draw(d *observability.Dashboard, readings map[string][]Reading, story *Story) []byte {
	p := &picture{story: story}
	top := p.head(d)
	for _, row := range d.Rows {
		p.text(gap, top+16, "h2", row.Title)
		top += 26
		across := row.Across()
		p.wide = (width-gap)/across - gap
		for i := range row.Panels {
			x, y := gap+i%across*(p.wide+gap), top+i/across*(cardHeight+gap)
			p.card(&row.Panels[i], readings[row.Panels[i].Title], x, y)
		}
		top += (len(row.Panels) + across - 1) / across * (cardHeight + gap)
	}
	return fmt.Appendf(nil, svg, width, top+gap, width, top+gap, p.String())
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<style>
text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:10px;fill:#475569}
.h1{font-size:20px;font-weight:600;fill:#0f172a}.h2{font-size:13px;font-weight:600;fill:#334155}
.title{font-size:12px;font-weight:600;fill:#0f172a}.right{text-anchor:end}.big{font-size:26px;font-weight:600;fill:#0f172a}
.act{fill:#94a3b8;font-size:9px}.note{font-size:11px}.in{fill:#0f172a}
</style>
<rect width="100%%" height="100%%" fill="#f1f5f9"/>
%s</svg>
`

// head is the title and the acts of the story by number.
func (p *picture) head(d *observability.Dashboard) (bottom int) {
	p.text(gap, 32, "h1", d.Title)
	p.text(gap, 52, "note", d.About)
	acts := make([]string, len(Acts))
	for i, act := range Acts {
		acts[i] = fmt.Sprintf("%d %s", i+1, act.Name)
	}
	p.text(gap, 70, "note", fmt.Sprintf("%.0f seconds of a fleet of three and a worker alone: %s.", p.story.To.Sub(p.story.From).Seconds(), strings.Join(acts, ", ")))
	return 84
}

func (p *picture) text(x, y int, class, text string) {
	fmt.Fprintf(p, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(text))
}

// line is one series of a panel, with its name and colour.
type line struct {
	name, colour string
	points       []Point
}

func (p *picture) card(panel *observability.Panel, readings []Reading, x, y int) {
	fmt.Fprintf(p, "<g transform=\"translate(%d %d)\"><rect width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#fff\" stroke=\"#e2e8f0\"/>\n", x, y, p.wide, cardHeight)
	p.text(14, 20, "title", panel.Title)
	lines := linesOf(readings)
	switch {
	case len(lines) == 0:
		p.text(plotLeft, plotTop+40, "note", "nothing")
	case panel.Kind == observability.Number:
		p.numbers(panel, lines)
	case panel.Kind == observability.States:
		p.marks()
		p.bands(panel, lines)
	default:
		p.marks()
		p.curves(panel, lines)
		p.legend(lines)
	}
	p.WriteString("</g>\n")
}

var palette = []string{"#2563eb", "#ea580c", "#16a34a", "#9333ea", "#0891b2", "#ca8a04", "#db2777", "#475569", "#65a30d", "#dc2626"}

// known are series that look the same wherever they are.
var known = map[string]string{
	"critical": "#b91c1c", "high": "#ea580c", "normal": "#2563eb", "low": "#94a3b8",
	"admitted": "#16a34a", "rejected": "#ea580c", "abandoned": "#94a3b8", "answered": "#16a34a", "failed": "#b91c1c",
}

// rank puts classes in their order.
var rank = map[string]int{"critical": -4, "high": -3, "normal": -2, "low": -1}

func linesOf(readings []Reading) (lines []line) {
	for _, r := range readings {
		for _, s := range r.Series {
			name := legend(r.Query.Legend, s.Labels)
			colour, ok := known[name]
			if !ok {
				colour = palette[len(lines)%len(palette)]
			}
			lines = append(lines, line{name, colour, s.Points})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(rank[a.name], rank[b.name]) })
	return lines
}

// marks are the beginnings of the acts.
func (p *picture) marks() {
	for i, at := range p.story.Begins {
		x := p.x(at)
		fmt.Fprintf(p, "<path d=\"M%.1f %dV%d\" stroke=\"#cbd5e1\" stroke-dasharray=\"2 3\"/><text x=\"%.1f\" y=\"%d\" class=\"act\">%d</text>\n", x, plotTop-4, plotTop+plotHeight, x+2, plotTop-5, i+1)
	}
}

// x is where a moment stands in a card.
func (p *picture) x(at time.Time) float64 {
	return plotLeft + float64(p.room())*at.Sub(p.story.From).Seconds()/p.story.To.Sub(p.story.From).Seconds()
}

// room is the width of a plot.
func (p *picture) room() int { return p.wide - plotLeft - 14 }

// legend names the lines, the highest first where there are too many.
func (p *picture) legend(lines []line) {
	named := slices.Clone(lines)
	if len(named) > mostNamed {
		slices.SortStableFunc(named, func(a, b line) int { return -compareHighest(a, b) })
		named = named[:mostNamed]
	}
	for i, l := range named {
		across := max(p.wide/135, 1)
		x, y := 14+i%across*((p.wide-14)/across), plotTop+plotHeight+22+i/across*13
		name := short(l.name, 23)
		if i == mostNamed-1 && len(lines) > mostNamed {
			name = fmt.Sprintf("and %d more", len(lines)-mostNamed+1)
			l.colour = "#cbd5e1"
		}
		fmt.Fprintf(p, "<rect x=\"%d\" y=\"%d\" width=\"8\" height=\"8\" rx=\"2\" fill=\"%s\"/>", x, y-8, l.colour)
		p.text(x+12, y, "", name)
	}
}

func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
