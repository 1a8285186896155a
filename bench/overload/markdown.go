package overload

import (
	"fmt"
	"strings"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Markdown is the report as a page: a table for each experiment.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Written by make overload. Do not edit. -->\n\n%s. %s. Median of the repeats, and their range in brackets.\n",
		r.Date.Format("2006-01-02"), r.Machine)
	for _, e := range Experiments() {
		if rows := r.Rows(e.Name); len(rows) > 0 {
			table(&b, &e, rows)
		}
	}
	r.settings(&b)
	return b.String()
}

func table(b *strings.Builder, e *Experiment, rows []Row) {
	fmt.Fprintf(b, "\n## %s: %s\n\n", e.Name, e.Title)
	b.WriteString("| | setting | critical % | its worst second | high | normal | low | goodput % | late % of good | p99 ms | refused before | back after | changes a minute |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for i := range rows {
		row := &rows[i]
		mark := ""
		if row.Unreliable > 0 {
			mark = fmt.Sprintf(" (driver late in %d of %d)", row.Unreliable, row.Runs)
		}
		fmt.Fprintf(b, "| %s%s | %s | %s | %s | %.0f | %.0f | %.0f | %s | %.1f | %.0f | %.1f %% | %s | %.0f |\n",
			row.Contestant, mark, row.Setting, percent(row.Critical), percent(row.Worst),
			100*row.Good[priority.High.Index()], 100*row.Good[priority.Normal.Index()], 100*row.Good[priority.Low.Index()],
			percent(row.Goodput), 100*row.Late.Median, row.P99.Median, 100*row.FalseShed.Median, seconds(e, row.Recovery.Median), row.Changes.Median)
	}
}

func percent(s Spread) string {
	if s.Least == s.Most {
		return fmt.Sprintf("%.1f", 100*s.Median)
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", 100*s.Median, 100*s.Least, 100*s.Most)
}

func seconds(e *Experiment, s float64) string {
	switch {
	case len(e.Phases) <= after || e.Judged < 0:
		return "–"
	case s == never:
		return "not in this run"
	}
	return fmt.Sprintf("%.0f s", s)
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
