package algorithms

import (
	"fmt"
	"strings"
	"time"
)

// The picture's measures, in pixels.
const (
	width, height = 760, 250
	left, right   = 46, 744
	barBase       = 118 // the bars stand on it
	barUnit       = 7   // of one request in a tenth of a second
	curveBase     = 226
	curveUnit     = 3.6 // of one request in the last second
)

const tenth = 100 * time.Millisecond

// x is where a moment lies.
func x(t time.Duration) float64 {
	return left + float64(right-left)*t.Seconds()/length.Seconds()
}

// Draw runs an algorithm and draws what it admitted: above, what came and what
// went on in each tenth of a second; below, what went on within the last
// second, at every moment.
func (s *Subject) Draw() (string, error) {
	requests, err := s.run()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `, width, height, width, height)
	b.WriteString(`font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#333">` + "\n")
	fmt.Fprintf(&b, "<title>%s</title>\n", s.Title)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="16" font-size="13" font-weight="bold">%s</text>`+"\n", left, s.Title)
	legend(&b)
	bars(&b, requests)
	curve(&b, requests)
	axis(&b)
	b.WriteString("</svg>\n")
	return b.String(), nil
}

func legend(b *strings.Builder) {
	fmt.Fprintf(b, `<rect x="430" y="7" width="10" height="10" fill="#d9dee5"/><text x="444" y="16">asked, each 0.1 s</text>`+"\n")
	fmt.Fprintf(b, `<rect x="544" y="7" width="10" height="10" fill="#2a6fb0"/><text x="558" y="16">let through</text>`+"\n")
	fmt.Fprintf(b, `<rect x="632" y="11" width="12" height="2" fill="#c0392b"/><text x="648" y="16">in the last second</text>`+"\n")
}

// bars draws what came in each tenth of a second, and before it what went on.
func bars(b *strings.Builder, requests []request) {
	for from := time.Duration(0); from < length; from += tenth {
		came, went := 0, 0
		for _, r := range requests {
			if r.came >= from && r.came < from+tenth {
				came++
			}
			if r.admitted && r.went >= from && r.went < from+tenth {
				went++
			}
		}
		bar(b, from, came, "#d9dee5")
		bar(b, from, went, "#2a6fb0")
	}
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#999"/>`+"\n", left, barBase, right, barBase)
}

func bar(b *strings.Builder, from time.Duration, n int, fill string) {
	if n > 0 {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="9.6" height="%d" fill="%s"/>`+"\n", x(from)+1, barBase-n*barUnit, n*barUnit, fill)
	}
}

// curve draws how many went on within the last second.
func curve(b *strings.Builder, requests []request) {
	for _, n := range []int{10, 20} {
		y, dash := curveBase-float64(n)*curveUnit, ""
		if n == 20 {
			dash = ` stroke-dasharray="3 3"`
		}
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#999"%s/><text x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n", left, y, right, y, dash, left-6, y+4, n)
	}
	fmt.Fprintf(b, `<polyline fill="none" stroke="#c0392b" stroke-width="1.6" points="`)
	for t := time.Duration(0); t < length; t += 5 * time.Millisecond {
		fmt.Fprintf(b, "%.1f,%.1f ", x(t), curveBase-float64(within(requests, t))*curveUnit)
	}
	b.WriteString(`"/>` + "\n")
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#999"/>`+"\n", left, curveBase, right, curveBase)
}

func axis(b *strings.Builder) {
	for t := time.Duration(0); t <= length; t += time.Second {
		anchor := "middle"
		if t == length {
			anchor = "end"
		}
		fmt.Fprintf(b, `<text x="%.1f" y="242" text-anchor="%s">%d s</text><line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#999"/>`+"\n",
			x(t), anchor, int(t.Seconds()), x(t), curveBase, x(t), curveBase+4)
	}
}
