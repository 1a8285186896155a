package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// figure is something that a benchmark reports beside its time.
type figure struct {
	unit  string
	title string
	times float64 // what it is multiplied with to be shown
}

// figures are the columns of works that report more than a time, in order.
var figures = []figure{
	{"decisions/s", "decisions/s", 1},
	{"p50-us", "p50 µs", 1},
	{"p99-us", "p99 µs", 1},
	{serverCPU, "Redis CPU µs", 1},
	{"cpu-ns/op", "client CPU µs", 0.001},
	{"tokens/call", "tokens a call", 1},
	{"calls/op", "calls", 1},
	{"allocs/op", "allocations", 1},
}

// serverCPU is what makes a work one that is shown figure by figure.
const serverCPU = "redis-us/op"

// has reports whether a contestant of the table reported a figure.
func (t *table) has(way, unit string) bool {
	return slices.ContainsFunc(t.contestants, func(contestant string) bool {
		_, ok := t.cells[[2]string{way, contestant}].figures[unit]
		return ok
	})
}

func (t *table) manyFigures() bool {
	return slices.ContainsFunc(t.ways, func(way string) bool { return t.has(way, serverCPU) })
}

// renderFigures writes one table for each way of doing the work.
func (t *table) renderFigures(page *strings.Builder) {
	for i, way := range t.ways {
		if i > 0 {
			page.WriteString("\n")
		}
		fmt.Fprintf(page, "### %s\n\n", way)
		if text := worksWays[way]; text != "" {
			fmt.Fprintf(page, "%s\n\n", text)
		}
		t.renderWay(page, way)
	}
}

func (t *table) renderWay(page *strings.Builder, way string) {
	shown := slices.DeleteFunc(slices.Clone(figures), func(f figure) bool { return !t.has(way, f.unit) })
	page.WriteString("| |")
	for _, f := range shown {
		fmt.Fprintf(page, " %s |", f.title)
	}
	fmt.Fprintf(page, "\n|---|%s\n", strings.Repeat("---:|", len(shown)))
	for _, contestant := range t.contestants {
		c, ok := t.cells[[2]string{way, contestant}]
		if !ok {
			continue
		}
		fmt.Fprintf(page, "| %s |", contestant)
		for _, f := range shown {
			fmt.Fprintf(page, " %s |", c.show(f))
		}
		page.WriteString("\n")
	}
}

// show is a figure and, if there is something to compare it with, its ratio.
func (c cell) show(f figure) string {
	v, ok := c.figures[f.unit]
	if !ok {
		return ""
	}
	text := short(v.median * f.times)
	if v.ratio > 0 && f.unit != "allocs/op" {
		text += " (" + ratio(v.ratio) + ")"
	}
	return text
}

func ratio(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// short is a figure in three digits, or all that stand before the point; a
// whole one as it is.
func short(v float64) string {
	switch {
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
