package overload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Markdown is the report as a page: a table for each experiment.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Written by make overload. Do not edit. -->\n\n%s. %s. Medians over *n* repeats, and their range in brackets.\n",
		r.days(r.Results), r.Machine)
	if _, drawn := r.Charts()[criticalChart]; drawn {
		pictures(&b, "critical calls over the offered load", criticalChart, "goodput over the offered load", goodputChart)
	}
	for _, e := range Experiments() {
		if rows := r.Rows(e.Name); len(rows) > 0 {
			fmt.Fprintf(&b, "\n## %s: %s\n\n%s, %s.%s\n\n", e.Name, e.Title, repeats(rows), r.days(r.of(e.Name)), e.bound())
			table(&b, &e, rows)
			pictures(&b, e.Name+", critical calls", chartOf(e.Name), e.Name+", goodput", goodputOf(e.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Skipped)) {
		fmt.Fprintf(&b, "\n## %s\n\nNot run: %s.\n", name, r.Skipped[name])
	}
	r.settings(&b)
	return b.String()
}

// pictures shows two charts.
func pictures(b *strings.Builder, first, file, second, file2 string) {
	fmt.Fprintf(b, "\n![%s](%s)\n\n![%s](%s)\n", first, file, second, file2)
}

// column is a figure of a row.
type column struct {
	title string
	cell  func(*Experiment, *Row) string
}

// columns are those that say something in an experiment.
func columns(e *Experiment) []column {
	share := func(class priority.Class) func(*Experiment, *Row) string {
		return func(_ *Experiment, r *Row) string { return fmt.Sprintf("%.0f", 100*r.Good[class.Index()]) }
	}
	list := []column{
		{"n", func(_ *Experiment, r *Row) string { return strconv.Itoa(r.Runs) }},
		{"critical %", func(_ *Experiment, r *Row) string { return percent(r.Critical) }},
		{"its worst second", func(_ *Experiment, r *Row) string { return percent(r.Worst) }},
		{"high", share(priority.High)}, {"normal", share(priority.Normal)}, {"low", share(priority.Low)},
		{"goodput %", func(_ *Experiment, r *Row) string { return percent(r.Goodput) }},
		{"late % of good", func(_ *Experiment, r *Row) string { return fmt.Sprintf("%.1f", 100*r.Late.Median) }},
		{"p99 ms", func(_ *Experiment, r *Row) string { return fmt.Sprintf("%.0f", r.P99.Median) }},
	}
	if e.Streams != nil {
		list = append(list, column{"streams %", func(_ *Experiment, r *Row) string { return fmt.Sprintf("%.0f", 100*r.Streams.Median) }})
	}
	if e.Slow != nil {
		list = append(list, column{"critical while slow %", func(_ *Experiment, r *Row) string { return percent(r.Meanwhile) }})
	}
	if e.Apart {
		list = append(list, column{"first refusal after", func(_ *Experiment, r *Row) string { return seconds("%.1f s", r.FirstRefusal.Median) }})
	}
	if e.Judged < 0 {
		return append(list, column{"changes a minute", func(_ *Experiment, r *Row) string { return fmt.Sprintf("%.0f", r.Changes.Median) }})
	}
	return append(list,
		column{"refused before", func(_ *Experiment, r *Row) string { return fmt.Sprintf("%.1f %%", 100*r.FalseShed.Median) }},
		column{"back after", func(_ *Experiment, r *Row) string { return seconds("%.0f s", r.Recovery.Median) }})
}

// bound says what share of critical can be answered at all, where that is less
// than everything.
func (e *Experiment) bound() (text string) {
	for phase := range e.Phases {
		slower := max(e.Slow[phase], 1)
		alone := e.Phases[phase].Multiple * float64(slower) * criticalShare(e.Mix)
		if alone > 1 && (phase == e.Judged || slower > 1) {
			text += fmt.Sprintf(" Critical calls alone are %.1f times what can be done then (%s): no more than %.1f %% of them can be answered.", alone, e.Phases[phase].Name, 100/alone)
		}
	}
	return text
}

// criticalShare is that of critical calls among the arrivals.
func criticalShare(mix load.Mix) float64 {
	if mix == (load.Mix{}) {
		mix = load.DefaultMix
	}
	sum := 0.0
	for _, share := range mix {
		sum += share
	}
	return mix[priority.Critical.Index()] / sum
}

// repeats says on how many runs the rows rest.
func repeats(rows []Row) string {
	least, most := rows[0].Runs, rows[0].Runs
	for _, row := range rows {
		least, most = min(least, row.Runs), max(most, row.Runs)
	}
	switch {
	case least < most:
		return fmt.Sprintf("%d to %d repeats, as the column n says", least, most)
	case most == 1:
		return "One run each"
	}
	return fmt.Sprintf("%d repeats", most)
}

func table(b *strings.Builder, e *Experiment, rows []Row) {
	list := columns(e)
	b.WriteString("| | setting |")
	for _, c := range list {
		fmt.Fprintf(b, " %s |", c.title)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---:|", len(list)) + "\n")
	for i := range rows {
		row := &rows[i]
		mark := ""
		if row.Unreliable > 0 {
			mark = fmt.Sprintf(" (driver late in %d of %d)", row.Unreliable, row.Runs)
		}
		fmt.Fprintf(b, "| %s%s | %s |", row.Contestant, mark, row.Setting)
		for _, c := range list {
			fmt.Fprintf(b, " %s |", c.cell(e, row))
		}
		b.WriteString("\n")
	}
}

func percent(s Spread) string {
	if s.Least == s.Most {
		return fmt.Sprintf("%.1f", 100*s.Median)
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", 100*s.Median, 100*s.Least, 100*s.Most)
}

func seconds(format string, s float64) string {
	if s == never {
		return "not in this run"
	}
	return fmt.Sprintf(format, s)
}

// settings says which settings were tried, and which was best.
func (r *Report) settings(b *strings.Builder) {
	b.WriteString("\n## The settings that were tried\n\nOne run each; the best by the share of critical calls answered times the goodput is the second row of a contestant above.\n\n")
	b.WriteString("| service | | setting | critical % | goodput % | chosen |\n|---|---|---|---:|---:|---|\n")
	for _, kind := range []string{waits, computes} {
		for _, c := range Contestants() {
			for _, s := range c.Settings {
				if t := r.tried(kind, c.Name, s.Name); t != nil {
					chosen := ""
					if r.Best[kind][c.Name] == s.Name {
						chosen = "best"
					}
					fmt.Fprintf(b, "| %s | %s | %s | %.1f | %.1f | %s |\n", kind, c.Name, s.Name, 100*t.Good[priority.Critical.Index()], 100*t.Goodput, chosen)
				}
			}
		}
	}
}

func (r *Report) tried(kind, contestant, setting string) *Result {
	for _, t := range r.Tried {
		if kindOf(t.Experiment) == kind && t.Contestant == contestant && t.Setting == setting {
			return t
		}
	}
	return nil
}
