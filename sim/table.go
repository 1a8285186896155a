package sim

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Table is the report for people: a line for each second, what was expected,
// and which invariants broke.
func (r *Report) Table() string {
	var b strings.Builder
	r.WriteTable(&b)
	return b.String()
}

// WriteTable writes the table.
func (r *Report) WriteTable(to io.Writer) {
	fmt.Fprintf(to, "%s, seed %d: %s on machines for %.0f requests a second\n\n", r.Scenario, r.Seed, r.Length, r.Capacity)
	fmt.Fprintf(to, "%4s %7s  %-23s  %-23s %6s %5s %5s  %5s %5s %5s %5s  %s\n", "", "", "answered in time, %", "refused by", "", "", "", "", "", "", "", "")
	fmt.Fprintf(to, "%4s %7s  %5s %5s %5s %5s  %5s %5s %5s %5s  %6s %5s %5s  %5s %5s %5s %5s  %s\n",
		"s", "offered", "crit", "high", "norm", "low", "rate", "slots", "fleet", "work", "served", "late", "lost", "busy", "limit", "lease", "level", "store")
	for i := range r.Seconds {
		if played := time.Duration(i) * time.Second; played < r.Length { // then what was under way ends
			r.writeSecond(to, &r.Seconds[i])
		}
	}
	fmt.Fprintln(to)
	r.writeVerdicts(to)
}

func (r *Report) writeSecond(to io.Writer, s *Second) {
	for _, e := range s.Events {
		fmt.Fprintf(to, "     · %s\n", e)
	}
	var all Tally
	for _, t := range s.Class {
		all.add(t)
	}
	all.add(s.Abuser)
	fmt.Fprintf(to, "%4d %7d  %5s %5s %5s %5s  %5s %5s %5s %5s  %6d %5s %5s  %5d %5d %5.0f %5.2f  %s\n",
		s.At, all.Offered, percent(s.Class[3]), percent(s.Class[2]), percent(s.Class[1]), percent(s.Class[0]),
		count(s.Refused[rateEntry]), count(s.Refused[slotsEntry]), count(s.Refused[fleetEntry]), count(s.Refused[workerEntry]),
		s.Served, count(all.Late), count(all.Lost), s.InFlight, s.Limit, s.Lease, s.Level, s.Store)
}

// percent is a share for people: 100 only if it is all.
func percent(t Tally) string {
	switch {
	case t.reached() == 0:
		return "·"
	case t.Good == t.reached():
		return "100"
	}
	return fmt.Sprintf("%.1f", min(99.9, share(t)))
}

func count(n int) string {
	if n == 0 {
		return "·"
	}
	return fmt.Sprint(n)
}

func (r *Report) writeVerdicts(to io.Writer) {
	for _, v := range r.Expected {
		word := "met   "
		if !v.Met {
			word = "MISSED"
		}
		fmt.Fprintf(to, "%s  %s: %.4g%s\n", word, v.What, v.Got, v.Unit)
	}
	broken := 0
	for _, n := range r.Broken {
		broken += n
	}
	if broken == 0 {
		fmt.Fprintf(to, "held    all invariants, at every call of the store and every tenth of a second\n")
	}
	for _, v := range r.Violations {
		fmt.Fprintf(to, "BROKEN  %s (seed %d)\n", v, r.Seed)
	}
	for _, rule := range sortedKeys(r.Broken) {
		fmt.Fprintf(to, "BROKEN  %s: %d times\n", rule, r.Broken[rule])
	}
	if len(r.Violations) > 0 {
		fmt.Fprintf(to, "\nbefore %s:\n  %s\n", r.Violations[0].Rule, strings.Join(r.Violations[0].Last, "\n  "))
	}
	fmt.Fprintf(to, "digest  %016x\n", r.Digest)
}
