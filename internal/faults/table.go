package faults

import (
	"fmt"
	"strings"
	"time"
)

// What the tour is to reach, on a machine that has nothing else to do.
const (
	mostAdded       = 1500 * time.Microsecond // at p99.9, above the budget
	mostGoroutines  = 50
	mostConnections = 20
	mostToNormal    = time.Second
	mostToSwitch    = 3 * time.Second // where a replica takes over
	mostFallback    = 0.001           // of the requests while all is well
)

// Cells are the cells of a row that no machine changes: the fault, what the
// caller sees, how much too many may be admitted, and what brings it back.
func (r *Row) Cells() string {
	return fmt.Sprintf("| %s | %s | %s | %s |", r.Fault, r.sees(), r.bound(), r.Heals)
}

func (r *Row) sees() string {
	byPolicy := "the policy: open admits, closed refuses, local decides by its share"
	switch {
	case r.Sees == "":
		if r.Effect == Spares {
			return "nothing"
		}
		return byPolicy
	case r.Effect == Opens:
		return r.Sees + "; then the policy"
	}
	return r.Sees
}

func (r *Row) bound() string {
	bound := "B + R·W"
	if r.Losses > 0 {
		bound += " + B"
	}
	if r.Effect != Spares {
		bound += "; local: + B + R·D"
	}
	if r.Loss != "" {
		bound += "; lost: " + r.Loss
	}
	return bound
}

// Table is the rows of a section with what was measured of them.
func Table(section string, results []*Result) string {
	var page strings.Builder
	fmt.Fprintf(&page, "### %s\n\n", section)
	page.WriteString("| fault | the caller sees | over-admission bound | recovery | added latency p50 / p99 / p99.9 / max, ms | goroutines, connections more | normal after |\n")
	page.WriteString("|---|---|---|---|---:|---:|---:|\n")
	for _, r := range results {
		if r.Row.Section == section {
			fmt.Fprintf(&page, "%s %s |\n", r.Row.Cells(), r.measured())
		}
	}
	return page.String()
}

// Sections are those of the rows, in order.
func Sections() []string { return []string{Gone, Answers, Forgets, Network, Fleets} }

func (r *Result) measured() string {
	ms := func(share float64) string {
		return fmt.Sprintf("%.2f", float64(r.Latency(share))/float64(time.Millisecond))
	}
	connections := fmt.Sprint(r.Connections())
	if r.Row.Section == Fleets {
		connections = "–" // servers and sentinels connect to each other too
	}
	normal := fmt.Sprintf("%.2f s", r.Normal().Seconds())
	if r.Normal() == 0 {
		normal = "at once"
	}
	return fmt.Sprintf("%s / %s / %s / %s | %d, %s | %s", ms(0.5), ms(0.99), ms(0.999), ms(1), r.Goroutines(), connections, normal)
}

// Missed lists the targets that a run did not reach, for who reads the table.
func (r *Result) Missed() (list []string) {
	miss := func(is bool, format string, args ...any) {
		if is {
			list = append(list, r.Row.Name+": "+fmt.Sprintf(format, args...))
		}
	}
	normal := mostToNormal
	if r.Row.FromBreak {
		normal = mostToSwitch
	}
	p999 := r.Latency(0.999)
	miss(p999 > r.Shape.Budget+mostAdded, "p99.9 %s, target %s", p999.Round(10*time.Microsecond), r.Shape.Budget+mostAdded)
	miss(r.Goroutines() > mostGoroutines, "%d goroutines more, target %d", r.Goroutines(), mostGoroutines)
	miss(r.Row.Section != Fleets && r.Connections() > mostConnections, "%d connections, target %d", r.Connections(), mostConnections)
	miss(r.Normal() > normal, "normal after %s, target %s", r.Normal().Round(time.Millisecond), normal)
	miss(!r.Row.Leases && r.SlotsFree > time.Second, "slots free after %s, target 1s", r.SlotsFree.Round(time.Millisecond))
	return list
}

// Healthy is how many requests fell back while all was well, of how many, over
// several runs, and whether that is few enough.
func Healthy(results []*Result) (n, of int, few bool) {
	for _, r := range results {
		fell, all := r.FellBack(r.Began, r.Broke)
		n, of = n+fell, of+all
	}
	return n, of, float64(n) <= mostFallback*float64(of)
}

// Requests is how many there were while the store was broken.
func (r *Result) Requests() (n int) {
	for _, s := range r.shots {
		if s.sent.After(r.Broke) && s.sent.Before(r.Healed) {
			n++
		}
	}
	return n
}

// Path is how the guard's state changed, from the break.
func (r *Result) Path() string {
	var path []string
	for _, c := range r.changes {
		if c.At.After(r.Broke) {
			path = append(path, fmt.Sprintf("%s %s", c.At.Sub(r.Broke).Round(time.Millisecond), c.State))
		}
	}
	return fmt.Sprintf("%s, healed %s", strings.Join(path, ", "), r.Healed.Sub(r.Broke).Round(time.Millisecond))
}
