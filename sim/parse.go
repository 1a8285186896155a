package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

// Parse reads a scenario. The error names every line that it cannot read, and
// what is allowed there.
func Parse(name, text string) (*Scenario, error) {
	p := &parser{scenario: &Scenario{Name: name, Text: text, setup: defaults()}}
	var errs []error
	for n, line := range strings.Split(text, "\n") {
		if err := p.line(line); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, n+1, err))
		}
	}
	s := p.scenario
	if s.setup.length == 0 {
		errs = append(errs, fmt.Errorf("%s: a scenario needs a length, such as: length 30s", name))
	}
	if s.setup.limit == 0 {
		s.setup.limit = 2 * max(s.setup.machine.slots, 20)
	}
	slices.SortStableFunc(s.events, func(a, b event) int { return int(a.at - b.at) })
	for i := range s.events {
		if s.events[i].at > s.setup.length {
			errs = append(errs, fmt.Errorf("%s: %q is after the end at %s", name, s.events[i].line, s.setup.length))
		}
	}
	for i := range s.expects {
		if err := s.expects[i].within(s.setup.length); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	s.Story = strings.TrimSpace(s.Story)
	return s, errors.Join(errs...)
}

type parser struct {
	scenario *Scenario
	at       time.Duration
}

// line reads one line: of the story, the setup, the timeline or what is expected.
func (p *parser) line(line string) error {
	text, comment, _ := strings.Cut(line, "#")
	w := words(strings.Fields(text))
	if len(w) == 0 {
		if len(p.scenario.events) == 0 && comment != "" {
			p.scenario.Story += strings.TrimSpace(comment) + "\n"
		}
		return nil
	}
	if at, err := time.ParseDuration(w[0]); err == nil {
		if at < 0 {
			return fmt.Errorf("%s is before the beginning, which is 0s", w[0])
		}
		p.at = at
		return p.event(strings.TrimSpace(text), w[1:])
	}
	if w[0] == "expect" {
		e, err := parseExpectation(w[1:])
		p.scenario.expects = append(p.scenario.expects, e)
		return err
	}
	set, known := settings[w[0]]
	if !known {
		return fmt.Errorf("unknown word %q, allowed: a time such as 5s, expect, %s", w[0], strings.Join(sortedKeys(settings), ", "))
	}
	return w.complete(set(&p.scenario.setup, w[1:]), w[0])
}

// words are what is left of a line.
type words []string

// complete says of a failed reading what the whole word wants.
func (w words) complete(err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// scan reads words by a pattern: literal words, and values where a target is
// given for them in order. D is a duration, S one that may be below 0, N a
// number, P a percentage up to 100 %, X a multiple such as 3x, R a rate.
func (w words) scan(pattern string, to ...any) error {
	want := strings.Fields(pattern)
	if len(w) != len(want) {
		return fmt.Errorf("want %q, got %q", pattern, strings.Join(w, " "))
	}
	for i, kind := range want {
		if !isValue(kind) {
			if w[i] != kind {
				return fmt.Errorf("want %q, got %q", pattern, strings.Join(w, " "))
			}
			continue
		}
		if err := read(kind, w[i], to[0]); err != nil {
			return err
		}
		if !inRange(kind, to[0]) {
			return fmt.Errorf("%q is not %s", w[i], kinds[kind])
		}
		to = to[1:]
	}
	return nil
}

func isValue(word string) bool { return len(word) == 1 && strings.ContainsAny(word, "DSNPXR") }

// read reads one value.
func read(kind, word string, to any) (err error) {
	switch to := to.(type) {
	case *time.Duration:
		*to, err = time.ParseDuration(word)
	case *int:
		*to, err = strconv.Atoi(word)
	case *int64:
		*to, err = strconv.ParseInt(word, 10, 64)
	case *limit.Rate:
		*to, err = limit.ParseRate(word)
	case *float64:
		*to, err = readFigure(kind, word)
	}
	if err != nil {
		return fmt.Errorf("%q is not %s", word, kinds[kind])
	}
	return nil
}

var kinds = map[string]string{
	"D": "a duration such as 10ms", "S": "a duration such as 1m or -1m", "N": "a number, 0 or more", "P": "a percentage such as 20%, up to 100%",
	"X": "a multiple such as 3x, up to 1000x", "R": "a rate such as 10/s",
}

// most is what a figure of a kind may be at most; a scenario of more would not
// end before its reader does.
var most = map[string]float64{"N": 1e9, "P": 1, "X": 1000, "R": 1e6}

// inRange reports whether what was read is what can be played.
func inRange(kind string, v any) bool {
	switch v := v.(type) {
	case *time.Duration:
		return kind == "S" || *v >= 0
	case *int:
		return *v >= 0
	case *int64:
		return *v >= 0
	case *float64:
		return *v >= 0 && *v <= most[kind]
	}
	return true
}

func readFigure(kind, word string) (float64, error) {
	suffix, unit := "", 1.0
	switch kind {
	case "P":
		suffix, unit = "%", 0.01
	case "X":
		suffix = "x"
	case "R":
		suffix = "/s"
	}
	figure, ok := strings.CutSuffix(word, suffix)
	if !ok {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(figure, 64)
	return v * unit, err
}

// first scans by the first pattern that has as many words.
func (w words) lengths(of ...int) bool { return slices.Contains(of, len(w)) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
