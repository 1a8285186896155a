// Command tour breaks Redis in every way that internal/faults knows, measures
// what callers notice, and writes the tables of docs/faults.md.
//
// It takes about five minutes, and its figures mean something on a machine that
// has nothing else to do. It fails when a promise is broken; targets that are
// missed it prints, and writes below the tables.
//
// Usage: go run ./internal/faults/tour [-row hung] [-out docs/faults.md]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/faults"
)

func main() {
	only := flag.String("row", "", "run the rows whose names match this expression, and write nothing")
	out := flag.String("out", "", "write the tables into this file, between its marks")
	rate := flag.Int("rate", 1000, "requests a second")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := tour(ctx, os.Stdout, *only, *out, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func tour(ctx context.Context, log io.Writer, only, out string, rate int) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-row: %w", err)
	}
	began := time.Now()
	var results []*faults.Result
	var broken []error
	for _, row := range faults.Rows() {
		if !wanted.MatchString(row.Name) {
			continue
		}
		r, err := faults.Run(ctx, &row, shapeOf(&row, rate))
		if err != nil {
			return err
		}
		results = append(results, r)
		say(log, r)
		if err := r.Errors(); err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", row.Name, err))
		}
	}
	page := write(results, time.Since(began))
	if out == "" || only != "" {
		fmt.Fprint(log, page)
		return errors.Join(broken...)
	}
	return errors.Join(append(broken, replace(out, page))...)
}

// shapeOf is how a row is run: those faults that make a call wait as long as it
// takes for ten thousand requests.
func shapeOf(row *faults.Row, rate int) faults.Shape {
	s := faults.Shape{Rate: rate, Holds: 3 * time.Millisecond, Budget: 2 * time.Millisecond, Healthy: time.Second, Fault: 2 * time.Second, After: 500 * time.Millisecond}
	switch row.Name {
	case "hung", "killed", "paused", "black-hole":
		s.Fault = time.Duration(10_100/rate+1) * time.Second
	}
	return s
}

func say(log io.Writer, r *faults.Result) {
	fmt.Fprintf(log, "%-20s %5d requests, p99.9 %s, +%d goroutines, +%d connections, normal after %s, %d charged for nothing\n",
		r.Row.Name, r.Requests(), r.Latency(0.999).Round(10*time.Microsecond), r.Goroutines(), r.Connections(), r.Normal().Round(time.Millisecond), r.Ghosts())
	for _, missed := range r.Missed() {
		fmt.Fprintf(log, "  missed %s; %s\n", missed, r.Path())
	}
}

// write makes the page's part.
func write(results []*faults.Result, took time.Duration) string {
	var page strings.Builder
	fmt.Fprintf(&page, "Measured on %s: %s, %d cores, load average %s, %s, %s. %d faults in %s, %s.\n\n", time.Now().UTC().Format("2006-01-02"),
		processor(), runtime.NumCPU(), loadAverage(), runtime.Version(), redis(), len(results), took.Round(time.Second), lateness(results))
	n, of, _ := faults.Healthy(results)
	fmt.Fprintf(&page, "While all was well the store did not decide %d of %d requests (target: one in a thousand).\n", n, of)
	for _, section := range faults.Sections() {
		page.WriteString("\n" + faults.Table(section, results))
	}
	page.WriteString("\n### Missed\n\n")
	missed := false
	for _, r := range results {
		for _, line := range r.Missed() {
			missed = true
			fmt.Fprintf(&page, "- %s\n", line)
		}
	}
	if !missed {
		page.WriteString("Every target was reached in this run.\n")
	}
	return page.String()
}

// The marks between which the file is written.
const (
	beginMark = "<!-- Written by make fault-tour. Do not edit. -->\n"
	endMark   = "<!-- End of what make fault-tour wrote. -->\n"
)

func replace(path, page string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks to write between", path)
	}
	return os.WriteFile(path, []byte(before+beginMark+"\n"+page+"\n"+endMark+after), 0o600) //nolint:gosec // the file is named by who runs this
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere the name of the architecture has to do
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func loadAverage() string {
	figures, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	first, _, _ := strings.Cut(string(figures), " ")
	return first
}

func redis() string {
	said, err := exec.Command("redis-server", "--version").Output() //nolint:noctx // it answers at once
	if fields := strings.Fields(string(said)); err == nil && len(fields) > 2 {
		return "Redis " + strings.TrimPrefix(fields[2], "v=")
	}
	return "Redis"
}

func lateness(results []*faults.Result) string {
	worst := time.Duration(0)
	for _, r := range results {
		worst = max(worst, r.Lateness(0.99))
	}
	return fmt.Sprintf("the load at most %s behind its schedule at p99", worst.Round(10*time.Microsecond))
}
