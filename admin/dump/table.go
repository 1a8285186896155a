package dump

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of a table.
const (
	mostRows  = 500
	mostWidth = 64 // of a cell, in characters
)

// table is rows of cells, aligned by columns.
type table struct {
	head  []string
	rows  [][]string
	left  int  // rows for which there was no room
	prose bool // the last column is a sentence of ours, with spaces
}

func (t *table) add(cells ...string) {
	if len(t.rows) == mostRows {
		t.left++
		return
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w io.Writer) {
	widths := make([]int, len(t.head))
	rows := append([][]string{t.head}, t.rows...)
	for y, row := range rows {
		for x := range row {
			if own := t.prose && x == len(row)-1; y > 0 && !own {
				row[x] = plain(row[x])
			}
			widths[x] = max(widths[x], utf8.RuneCountInString(row[x]))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		for x, cell := range row {
			text.WriteString(cell)
			if x < len(row)-1 {
				text.WriteString(strings.Repeat(" ", widths[x]-utf8.RuneCountInString(cell)+2))
			}
		}
		text.WriteByte('\n')
	}
	if t.left > 0 {
		fmt.Fprintf(&text, "# %d more are not shown\n", t.left)
	}
	io.WriteString(w, text.String())
}

// plain is a cell that is one word: nothing that is empty, breaks a line,
// separates columns or steers a terminal.
func plain(cell string) string {
	if cell == "" {
		return "-"
	}
	quoted := strings.ContainsFunc(cell, func(c rune) bool {
		return !unicode.IsGraphic(c) || unicode.IsSpace(c) || c == utf8.RuneError || c == '"'
	})
	if utf8.RuneCountInString(cell) > mostWidth {
		cell = string([]rune(cell)[:mostWidth-1]) + "…"
	}
	if quoted {
		return strings.ReplaceAll(strconv.QuoteToASCII(cell), " ", `\x20`)
	}
	return cell
}

// number is a count or a share for a person.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// duration is seconds for a person.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Second:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.String()
}
