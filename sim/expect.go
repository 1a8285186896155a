package sim

import (
	"fmt"
	"strings"
	"time"
)

// expectation is what a scenario's figures must be over some seconds.
type expectation struct {
	line     string
	from, to time.Duration // to 0 is the end
	each     bool          // in every second of them
	measure  string
	atLeast  bool
	value    float64
	unit     string
}

// Verdict is what came of an expectation.
type Verdict struct {
	What string  `json:"what"`
	Got  float64 `json:"got"` // the worst of the seconds, where every second counts
	Unit string  `json:"unit,omitempty"`
	Met  bool    `json:"met"`
}

// parseExpectation reads: [from T to T] [every second] measure >= value.
func parseExpectation(w words) (e expectation, err error) {
	e.line = strings.Join(w, " ")
	if len(w) > 4 && w[0] == "from" {
		if err := w[:4].scan("from D to D", &e.from, &e.to); err != nil {
			return e, err
		}
		w = w[4:]
	}
	if len(w) > 2 && w[0] == "every" && w[1] == "second" {
		e.each, w = true, w[2:]
	}
	if len(w) != 3 || w[1] != ">=" && w[1] != "<=" {
		return e, fmt.Errorf("expect: want: [from T to T] [every second] measure >= value, got %q", e.line)
	}
	e.measure, e.atLeast = w[0], w[1] == ">="
	m, known := measures[e.measure]
	if !known {
		return e, fmt.Errorf("expect: unknown measure %q, allowed: %s", e.measure, strings.Join(sortedKeys(measures), ", "))
	}
	kind := "N"
	if e.unit = m.unit; m.unit == "%" {
		kind = "P"
	}
	err = read(kind, w[2], &e.value)
	if m.unit == "%" {
		e.value *= 100
	}
	return e, err
}

// within checks that there are seconds to be judged.
func (e *expectation) within(length time.Duration) error {
	to := e.to
	if to == 0 {
		to = length
	}
	if e.from.Truncate(time.Second) >= to.Truncate(time.Second) || to > length {
		return fmt.Errorf("expect %s: from %s to %s there is no second of a scenario of %s", e.line, e.from, to, length)
	}
	return nil
}

// judge measures.
func (e *expectation) judge(r *Report) Verdict {
	to := e.to
	if to == 0 {
		to = r.Length
	}
	seconds := r.Seconds[min(len(r.Seconds), int(e.from/time.Second)):min(len(r.Seconds), int(to/time.Second))]
	m := measures[e.measure]
	v := Verdict{What: e.line, Unit: m.unit}
	if !e.each {
		v.Got = m.of(seconds, r)
		v.Met = e.met(v.Got)
		return v
	}
	v.Met = len(seconds) > 0
	for i := range seconds {
		got := m.of(seconds[i:i+1], r)
		if i == 0 || e.atLeast == (got < v.Got) {
			v.Got = got
		}
		v.Met = v.Met && e.met(got)
	}
	return v
}

func (e *expectation) met(got float64) bool {
	if e.atLeast {
		return got >= e.value
	}
	return got <= e.value
}
