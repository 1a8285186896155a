package demo

import (
	"strings"
	"unicode/utf8"
)

// Colour says whether what is drawn is coloured. The zero value is not.
type Colour uint8

// The colours.
const (
	Monochrome Colour = iota
	ANSI              // the eight colours that every terminal has
)

// The inks, as parameters of the escape sequence that selects them.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// ink colours a text.
func (c Colour) ink(ink, text string) string {
	if c == Monochrome || ink == "" || text == "" {
		return text
	}
	return "\x1b[" + ink + "m" + text + "\x1b[0m"
}

// ofShare is the ink for a share of requests that were answered in time.
func ofShare(share float64) string {
	switch {
	case share >= 0.99:
		return green
	case share >= 0.5:
		return yellow
	}
	return red
}

// clip cuts a line to a width in columns. Escape sequences take none, and are
// all kept, so that a cut line does not colour the next.
func clip(line string, width int) string {
	var kept strings.Builder
	for len(line) > 0 {
		if strings.HasPrefix(line, "\x1b[") {
			end := strings.IndexByte(line, 'm') + 1
			kept.WriteString(line[:end])
			line = line[end:]
			continue
		}
		_, size := utf8.DecodeRuneInString(line)
		if width > 0 {
			kept.WriteString(line[:size])
			width--
		}
		line = line[size:]
	}
	return kept.String()
}

// columns is how many columns a line takes, all its runes being one wide.
func columns(line string) (n int) {
	for rest := line; rest != ""; {
		if strings.HasPrefix(rest, "\x1b[") {
			rest = rest[strings.IndexByte(rest, 'm')+1:]
			continue
		}
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		n++
	}
	return n
}

// pad fills a text with spaces to a width, on its right, or on its left for a
// negative one.
func pad(text string, width int) string {
	if width < 0 {
		return strings.Repeat(" ", max(-width-columns(text), 0)) + text
	}
	return text + strings.Repeat(" ", max(width-columns(text), 0))
}
