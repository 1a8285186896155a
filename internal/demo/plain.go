package demo

import (
	"fmt"
	"io"
	"strings"
)

// plain writes a line for each second, in ASCII: for logs, and for terminals
// that cannot move their cursor.
type plain struct {
	out   io.Writer
	acts  int // that have had their first line
	lines int // of the current act
}

var ascii = strings.NewReplacer("×", "x", "·", "-", "✓", "ok  ", "✗", "FAIL", "≥", ">=", "≤", "<=")

func (p *plain) frame(s *show) {
	if p.acts == 0 {
		p.write(s.heading()...)
	}
	if p.acts < len(s.acts) {
		p.acts, p.lines = len(s.acts), 0
	}
	for a := s.current(); p.lines < a.judged(); p.lines++ {
		p.write(second(a, p.lines))
	}
}

func (p *plain) end(_ *show, lines []string) {
	if lines != nil {
		p.write("")
	}
	p.write(lines...)
}

func (p *plain) write(lines ...string) {
	for _, line := range lines {
		io.WriteString(p.out, ascii.Replace(line)+"\n")
	}
}

// second is the line of one second of an act.
func second(a *act, i int) string {
	t, at := a.of(i, i+1), a.report.Seconds()[i]
	var line strings.Builder
	fmt.Fprintf(&line, "%-13s t=%-3s %s offered=%.0f good=%.0f", a.name, seconds(at.To()), times(a.plan.Phases[at.Phase].Multiple), t.rate(t.all.Offered), t.rate(t.all.Good))
	for _, class := range mostImportantFirst {
		fmt.Fprintf(&line, " %v=%s", class, percent(t.class(class).GoodShare()))
	}
	for _, column := range stageColumns {
		if n := t.all.RefusedBy(column.stage); n > 0 {
			fmt.Fprintf(&line, " %s=%d", column.stage, n)
		}
	}
	for _, end := range []struct {
		name string
		n    int
	}{{"late", t.all.Late}, {"failed", t.all.Failed}, {"unsent", t.all.Unsent}} {
		if end.n > 0 {
			fmt.Fprintf(&line, " %s=%d", end.name, end.n)
		}
	}
	return line.String()
}
