package sim

import (
	"fmt"
	"sync"
	"time"
)

// journal keeps what happened last, for who asks why an invariant broke, and a
// digest of everything that happened.
type journal struct {
	began time.Time

	mu         sync.Mutex
	ring       [48]entry
	n          uint64
	digest     uint64
	violations []Violation
	broken     map[string]int
}

// entry is one thing that happened.
type entry struct {
	at     time.Duration
	what   string // a constant, or a line of the scenario
	worker int    // counted from 1; 0 is none
	a, b   uint64
}

// Violation is an invariant that did not hold.
type Violation struct {
	Rule string        `json:"rule"`
	At   time.Duration `json:"at_ns"` // of virtual time
	What string        `json:"what"`
	Last []string      `json:"last,omitempty"` // what happened last, the latest at the end
}

// String is one line.
func (v Violation) String() string { return fmt.Sprintf("%s at %s: %s", v.Rule, v.At, v.What) }

// keptViolations bounds what is told; the rest is counted.
const keptViolations = 8

func newJournal() *journal { return &journal{began: time.Now(), broken: map[string]int{}} }

// note adds an entry. The digest does not depend on the order in which
// goroutines note what happens at one moment.
func (j *journal) note(what string, worker int, a, b uint64) {
	at := time.Since(j.began)
	h := uint64(at)
	for _, c := range []byte(what) {
		h = h*31 + uint64(c)
	}
	h = mixed(mixed(mixed(h)^uint64(worker))^a) ^ mixed(b)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.digest += mixed(h)
	j.ring[j.n%uint64(len(j.ring))] = entry{at, what, worker, a, b}
	j.n++
}

// violate takes note of a broken invariant; the first few of a kind are told in full.
func (j *journal) violate(rule, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken[rule]++
	if j.broken[rule] > 2 || len(j.violations) >= keptViolations {
		return
	}
	j.violations = append(j.violations, Violation{rule, time.Since(j.began), fmt.Sprintf(format, args...), j.last()})
}

func (j *journal) last() (lines []string) {
	n := uint64(len(j.ring))
	for i := range n {
		e := j.ring[(j.n+i)%n]
		if e.what == "" {
			continue
		}
		line := fmt.Sprintf("%12s  %s", e.at, e.what)
		if e.worker > 0 {
			line += fmt.Sprintf(", worker %d", e.worker)
		}
		if e.a|e.b != 0 {
			line += fmt.Sprintf(" (%d, %d)", e.a, e.b)
		}
		lines = append(lines, line)
	}
	return lines
}
