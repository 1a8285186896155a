package demo

import (
	"fmt"
	"io"
	"strings"
)

// live draws a table, and draws it anew in the same place.
type live struct {
	out   io.Writer
	size  func() (width, height int, ok bool)
	drawn int // lines on the screen that the next frame replaces
}

// The terminal's own words.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearLine  = "\x1b[2K"
	clearBelow = "\x1b[J"
)

func (l *live) frame(s *show) {
	width, height, ok := l.size()
	if !ok {
		width, height = 80, 24
	}
	l.draw(picture(s, width, height), width)
}

// picture is what stands on the screen while the load runs. What a small
// screen has no room for is left out, the timeline first.
func picture(s *show, width, height int) []string {
	a := s.current()
	lines := append(s.heading(), "", s.scene())
	lines = append(lines, indent(table(a.so(a.phase()), s.config.Colour))...)
	if full := append(append(lines, ""), history(s, width)...); len(full) < height {
		return full
	}
	return lines[max(len(lines)-height+1, 0):]
}

// history is the timeline of all acts, in the width of a screen.
func history(s *show, width int) []string {
	return indent(timeline(s.acts, max((width-14)/2-4, 10), s.config.Colour))
}

func (l *live) draw(lines []string, width int) {
	var text strings.Builder
	text.WriteString(hideCursor)
	if l.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", l.drawn)
	}
	for _, line := range lines {
		text.WriteString("\r" + clearLine + clip(line, width) + "\n")
	}
	text.WriteString(clearBelow)
	l.drawn = len(lines)
	io.WriteString(l.out, text.String())
}

// end leaves the height of the first act and the whole timeline on the screen,
// and writes the last lines below them.
func (l *live) end(s *show, lines []string) {
	if lines != nil {
		width, _, ok := l.size()
		if !ok {
			width = 80
		}
		first := s.acts[0]
		last := append(s.heading(), "", s.title(first, height))
		last = append(last, indent(table(first.so(height), s.config.Colour))...)
		l.draw(append(append(last, ""), history(s, width)...), width)
		lines = append([]string{""}, lines...)
	}
	io.WriteString(l.out, strings.Join(append(lines, showCursor), "\n"))
}

func indent(lines []string) []string {
	for i, line := range lines {
		lines[i] = "  " + line
	}
	return lines
}
