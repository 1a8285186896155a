package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// round is one run of every benchmark, in the order in which they ran.
type round struct {
	order  []string
	result map[string]result // by name, without the number of processors
}

// result is what a benchmark reported, by unit: ns/op, B/op, allocs/op, and
// units of its own.
type result map[string]float64

// processors is the suffix that the testing package gives to a name.
var processors = regexp.MustCompile(`-\d+$`)

// parse reads the output of go test -bench, which may have found nothing to run.
func parse(output io.Reader) (round, error) {
	r := round{result: map[string]result{}}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		values := result{}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return r, fmt.Errorf("parsing %q: %w", lines.Text(), err)
			}
			values[fields[i+1]] = v
		}
		r.order = append(r.order, name)
		r.result[name] = values
	}
	return r, lines.Err()
}
