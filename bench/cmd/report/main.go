// Command report runs the benchmarks in rounds and writes what they say as a
// page: medians, and ratios that were taken within a round.
//
// A shared machine drifts by a quarter within minutes. A round runs every
// benchmark once, so that contestants are compared in the same minutes, and a
// ratio is the median of the ratios of the rounds.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/algorithms"
)

type settings struct {
	pattern   string
	unit      string // the time that is reported
	benchtime time.Duration
	rounds    int
	out       string
	folder    string
	seeds     int // with which what the sliding window decides wrongly is counted
}

func main() {
	s := settings{folder: ".", seeds: 20}
	flag.StringVar(&s.pattern, "bench", ".", "regular `expression` of the benchmarks to run")
	flag.StringVar(&s.unit, "unit", "ns/op", "`time` to report: ns/op that passed, or cpu-ns/op that the processor worked")
	flag.DurationVar(&s.benchtime, "benchtime", 200*time.Millisecond, "least time of one benchmark in one round")
	flag.IntVar(&s.rounds, "count", 5, "number of rounds, 1 or more")
	flag.StringVar(&s.out, "out", "", "`file` to write the page to; standard output when empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	if s.rounds < 1 {
		return fmt.Errorf("-count must be 1 or more, got %d", s.rounds)
	}
	if units[s.unit] == "" {
		return fmt.Errorf("-unit must be ns/op or cpu-ns/op, got %q", s.unit)
	}
	rounds, err := measure(ctx, s)
	if err != nil {
		return err
	}
	counted, err := regexp.MatchString(s.pattern, mistakes)
	if err != nil {
		return fmt.Errorf("-bench must be a regular expression: %w", err)
	}
	if !counted && len(rounds) == 0 {
		return fmt.Errorf("-bench %q matches no benchmark; there are %s and %s", s.pattern, strings.Join(slices.Sorted(maps.Keys(works)), ", "), mistakes)
	}
	page := render(s, readMachine(), rounds)
	if counted {
		page += renderMistakes(algorithms.Table(s.seeds))
	}
	if s.out == "" {
		_, err = os.Stdout.WriteString(page)
		return err
	}
	return os.WriteFile(s.out, []byte(page), 0o644)
}

// measure builds the benchmarks once and runs them in rounds; no rounds if there
// is nothing to run.
func measure(ctx context.Context, s settings) ([]round, error) {
	scratch, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "bench.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, s.folder)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building the benchmarks: %w", err)
	}
	var rounds []round
	for i := range s.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, s.rounds)
		var output bytes.Buffer
		test := exec.CommandContext(ctx, binary,
			"-test.run=^$", "-test.bench="+s.pattern, "-test.benchtime="+s.benchtime.String(), "-test.timeout=1h")
		test.Dir = s.folder
		test.Stdout = io.MultiWriter(&output, os.Stderr)
		test.Stderr = os.Stderr
		if err := test.Run(); err != nil {
			return nil, fmt.Errorf("round %d: %w", i+1, err)
		}
		r, err := parse(&output)
		if err != nil {
			return nil, err
		}
		if len(r.order) == 0 {
			return nil, nil // there are none, in any round
		}
		rounds = append(rounds, r)
	}
	return rounds, nil
}
