package operator

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// Clean is a text that a terminal only shows: whatever a client put into a
// path or a name moves no cursor and colours nothing.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, text)
}

// Clip is a text of at most width characters; what was cut is marked.
func Clip(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// table collects lines of cells and sets them in columns.
type table struct {
	text strings.Builder
	tabs *tabwriter.Writer
}

func newTable(heads ...any) *table {
	t := &table{}
	t.tabs = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.row(heads...)
	return t
}

func (t *table) row(cells ...any) {
	words := make([]string, len(cells))
	for i, cell := range cells {
		words[i] = Clean(fmt.Sprint(cell))
	}
	fmt.Fprintln(t.tabs, strings.Join(words, "\t"))
}

// wrapped is a row whose last cell goes on below in lines of a width; those
// after the first are indented.
func (t *table) wrapped(width int, cells ...any) {
	last := len(cells) - 1
	for i, line := range wrap(fmt.Sprint(cells[last]), width) {
		if i > 0 {
			for j := range cells {
				cells[j] = ""
			}
			line = "  " + line
		}
		cells[last] = line
		t.row(cells...)
	}
}

// wrap breaks a text between words into lines of at most width characters;
// those after the first are two shorter.
func wrap(text string, width int) (lines []string) {
	line, rest := "", width-2
	for word := range strings.FieldsSeq(Clean(text)) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines = append(lines, line)
			line, width = "", rest
		}
		line = strings.TrimSpace(line + " " + Clip(word, rest))
	}
	return append(lines, line)
}

func (t *table) String() string {
	t.tabs.Flush()
	var trimmed strings.Builder
	for line := range strings.Lines(t.text.String()) {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return trimmed.String()
}

// span is a duration as people say it: two units, no fractions.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return d.String()
}

// count is a number of requests that was estimated.
func count(n float64) string { return fmt.Sprintf("%.0f", n) }

func percent(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*part/whole)
}
