package demo

import (
	"strings"

	"github.com/plimsoll-go/plimsoll/priority"
)

// bars are filled from below, an eighth each.
var bars = []rune("▁▂▃▄▅▆▇█")

// bar is the bar of a share, 0 … 1; none for nothing.
func bar(share float64) string {
	if share < 0.005 {
		return none
	}
	return string(bars[min(int(share*8), 7)])
}

// timeline renders, second by second, what was offered and which share of each
// class was answered in time, one act beside the other. Each takes at most
// width columns: longer ones show several seconds as one.
func timeline(acts []*act, width int, c Colour) []string {
	lines := []string{pad("", 10), pad("offered", 10)}
	for _, class := range mostImportantFirst {
		lines = append(lines, pad(class.String(), 10))
	}
	for _, a := range acts {
		step := max((len(a.report.Seconds())+width-1)/width, 1)
		columns := max((len(a.report.Seconds())+step-1)/step, len(a.name))
		lines[0] += pad(c.ink(bold, a.name), columns+4)
		lines[1] += pad(c.ink(cyan, a.load(step)), columns+4)
		for i, drawn := range a.inTime(step, c) {
			lines[2+i] += pad(drawn, columns+4)
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// load draws the offered multiple, on the scale of the act's highest.
func (a *act) load(step int) string {
	highest := 0.0
	for _, phase := range a.plan.Phases {
		highest = max(highest, phase.Multiple)
	}
	var line strings.Builder
	for from := 0; from < len(a.report.Seconds()); from += step {
		line.WriteString(bar(a.plan.Phases[a.report.Seconds()[from].Phase].Multiple / highest))
	}
	return line.String()
}

// inTime draws the share of each class that was answered in time, the most
// important first.
func (a *act) inTime(step int, c Colour) (lines [priority.Count]string) {
	judged := a.judged()
	for from := 0; from < judged; from += step {
		t := a.of(from, min(from+step, judged))
		for i, class := range mostImportantFirst {
			share := t.class(class).GoodShare()
			lines[i] += c.ink(ofShare(share), bar(share))
		}
	}
	return lines
}
