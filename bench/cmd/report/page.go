package main

import (
	"fmt"
	"slices"
	"strings"
)

// works says what each benchmark measures, in the words of the page.
var works = map[string]string{
	"Rate": "One token of the limit of one caller out of many, from memory. `g` is the number of goroutines. " +
		"The limits are far above the load, so every request passes.",
	"Admission": "One place of a limit on requests in flight, taken and given back. All but failsafe-bulkhead and sentinel-flow adapt the limit to the load.",
	"FourStages": "A whole decision: request rate, requests in flight, fleet and worker, taken and given back. " +
		"`parts` is what one would put together from x/time/rate and failsafe-go's bulkhead, adaptive limiter and adaptive throttler.",
	"Price":   "A refusal while every place is taken: of ours by the worker's stage with the pipeline around it.",
	"Refusal": "A refusal from memory, by the first stage that looks and by the last.",
	"Middleware": "One HTTP request through a middleware to a handler that answers `ok`. " +
		"`direct` calls the handler; `socket` is a whole exchange on loopback, client and server on the same cores.",
	"Refusing": "One HTTP request that is refused by the middleware, beside one that is answered by a trivial handler.",
	"Proxy":    "One HTTP request through a reverse proxy to a server on the same machine, all on the same cores. `none` is a bare `httputil.ReverseProxy`.",
}

// units says what the times are.
var units = map[string]string{
	"ns/op":     "Times are nanoseconds an operation, as they passed.",
	"cpu-ns/op": "Times are nanoseconds of processor time an operation, of the whole process: on a shared machine they are what stays.",
}

// render writes the page.
func render(s settings, m machine, tables []*table) string {
	var page strings.Builder
	page.WriteString("# Benchmarks\n\n<!-- Written by make bench. Do not edit. -->\n\n")
	fmt.Fprintf(&page, "%s. %s, %d cores, %s. Median of %d rounds of at least %s each; a round runs everything once.\n\n",
		m.date, m.cpu, m.cores, m.goVersion, s.rounds, s.benchtime)
	page.WriteString(units[s.unit] + " The figure in brackets is the time of the row divided by that of the row named `none`, " +
		"where there is one, and else by that of `plimsoll`, both taken in the same round: above 1 is slower. " +
		"Compare the ratios; the times are those of one machine on one day.\n")
	for _, t := range tables {
		t.render(&page)
	}
	page.WriteString("\n" + spread(tables))
	return page.String()
}

func (t *table) render(page *strings.Builder) {
	fmt.Fprintf(page, "\n## %s\n\n", t.work)
	if text := works[t.work]; text != "" {
		fmt.Fprintf(page, "%s\n\n", text)
	}
	header := strings.Join(t.ways, " | ")
	if header == "" {
		header = "time" // done in one way only
	}
	fmt.Fprintf(page, "| | %s | allocations |\n|---|%s\n", header, strings.Repeat("---:|", len(t.ways)+1))
	for _, contestant := range t.contestants {
		fmt.Fprintf(page, "| %s |", contestant)
		allocs := 0.0
		for _, way := range t.ways {
			c, ok := t.cells[[2]string{way, contestant}]
			if !ok {
				page.WriteString(" |")
				continue
			}
			fmt.Fprintf(page, " %s |", c)
			allocs = max(allocs, c.allocs)
		}
		fmt.Fprintf(page, " %.0f |\n", allocs)
	}
}

// String is the cell's text: time, ratio, and what was refused against expectation.
func (c cell) String() string {
	text := fmt.Sprintf("%.0f", c.median)
	if c.median < 10 {
		text = fmt.Sprintf("%.1f", c.median)
	}
	if c.ratio > 0 {
		text += fmt.Sprintf(" (%.2f)", c.ratio)
	}
	if c.refused >= 0.05 {
		text += fmt.Sprintf(", %.1f %% refused", c.refused)
	}
	return text
}

// mistakes is what -bench has to match for the sliding window's to be measured.
const mistakes = "SlidingWindow"

// renderMistakes writes what the sliding window decides wrongly. It is counted,
// not timed, and the same on every machine.
func renderMistakes(table string) string {
	return "\n## " + mistakes + "\n\nHow often the sliding window decides otherwise than an exact log of the same limit, 100 a minute, that sees the same requests. " +
		"Counted in virtual time with chance from fixed seeds; [algorithms](algorithms.md#sliding-window) says what the rows mean.\n\n" + table
}

// spread says how far to trust the page.
func spread(tables []*table) string {
	var all []float64
	for _, t := range tables {
		for _, c := range t.cells {
			all = append(all, c.spread)
		}
	}
	return fmt.Sprintf("From its fastest to its slowest round half of the times moved by at most %.0f %%, the worst by %.0f %%.\n",
		100*median(all), 100*slices.Max(all))
}
