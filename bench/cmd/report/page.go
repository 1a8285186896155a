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
	"Refusing": "One HTTP request that is refused by the middleware, beside one that is answered by a trivial handler. " +
		"`bare-status` writes a status and nothing else: no refusal on net/http costs less, for the rest are its system calls and its reading of the request. " +
		"`same-answer` writes what `plimsoll` answers, made beforehand: what lies between the two is the decision and its words.",
	"Redis": "One decision on a real server over TCP on the same machine; client and server share the cores. " +
		"`evalsha` is go-redis with a plain GCRA script, `rueidis-evalsha` the same script. Redis CPU is that of the whole server, without what it uses idle. " +
		"All wait for their answers for as long as it takes.",
	"Proxy": "One HTTP request through a reverse proxy to a server on the same machine, all on the same cores. `none` is a bare `httputil.ReverseProxy`.",
}

// worksWays says what is done in one way of a work that has a table for each.
var worksWays = map[string]string{
	"bucket/callers=1":                 "One token of the limit of one caller out of 1,000. ulule counts in a fixed window; the others are buckets.",
	"bucket/callers=64":                "The same by 64 callers at once. plimsoll and rueidis let calls that meet leave together.",
	"bucket-and-slot/callers=64":       "A token and one of the caller's slots, which is not given back; 20,000 callers, so that each holds a few: ours in one call, of the others in two.",
	"three-limits-and-slot/callers=64": "Tokens of three limits and a slot, in the same way: ours in one call, of the others in four.",
	"request/callers=64":               "A token and a slot, and the slot given back: ours in one call, and through the guard's queue; of the others in two, and a ZREM by who has asked.",
	"hot-key/callers=64":               "One key, asked for as fast as it is answered; ours from a lease, and beside it without leases.",
	"give-back-slot":                   "A slot is given back: ours in pipelines of 64, as the guard's queue sends them, and a ZREM by each of 64 callers.",
	"hot-keys-paced":                   "Eight leased keys, each asked for 2,000 times a second; as many tokens go with one call as a lease's settings say.",
	"fleet": "The share of a fleet, a request: ours in a heartbeat every 500 ms, at 500 requests a second, and off the path of requests; " +
		"beside it the set of the requests in flight, entered and left by each, on one key.",
}

// units says what the times are.
var units = map[string]string{
	"ns/op":     "Times are nanoseconds an operation, as they passed.",
	"cpu-ns/op": "Times are nanoseconds of processor time an operation, of the whole process: on a shared machine they are what stays.",
}

// render writes the page.
func render(s settings, m machine, rounds []round) string {
	tables := tabulate(rounds, s.unit)
	var page strings.Builder
	page.WriteString("# Benchmarks\n\n<!-- Written by make bench. Do not edit. -->\n\n")
	fmt.Fprintf(&page, "%s. %s, %d cores, %s. Median of %d rounds of at least %s each; a round runs everything once.\n\n",
		m.date, m.cpu, m.cores, m.goVersion, s.rounds, s.benchtime)
	page.WriteString(units[s.unit] + " The figure in brackets is the time of the row divided by that of the row named `none`, " +
		"where there is one, and else by that of `plimsoll`, both taken in the same round: above 1 is slower. " +
		"Compare the ratios; the times are those of one machine on one day.\n")
	for _, t := range tables {
		t.render(&page)
		renderTargets(&page, t.work, rounds)
	}
	page.WriteString("\n" + spread(tables))
	return page.String()
}

func (t *table) render(page *strings.Builder) {
	fmt.Fprintf(page, "\n## %s\n\n", t.work)
	if text := works[t.work]; text != "" {
		fmt.Fprintf(page, "%s\n\n", text)
	}
	if t.manyFigures() {
		t.renderFigures(page)
		return
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
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("From its fastest to its slowest round half of the times moved by at most %.0f %%, the worst by %.0f %%.\n",
		100*median(all), 100*slices.Max(all))
}
