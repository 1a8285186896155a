package workershed

import (
	"fmt"
	"sync"
	"time"
)

// Signal is what moved the limit or the level. The set is closed, and the zero
// value is no signal.
type Signal uint8

// The signals.
const (
	NoSignal    Signal = iota
	RunQueue           // goroutines were ready for long before they ran; value in seconds
	TimeOuts           // requests timed out; value is their share of those that ended
	InUse              // no pressure, and more than half of the limit in use; value is the mean in flight
	Calm               // no pressure for a while; value is the mean in flight
	Utilization        // value is the share of the limit that was in use
	Operator           // somebody set it; value is what was set
	Settings           // the configured maximum changed; value is the new one
)

var signals = [...]string{"", "run-queue", "time-outs", "in-use", "calm", "utilization", "operator", "settings"}

// String is the signal's word, or "" for NoSignal.
func (s Signal) String() string { return signals[s] }

// MarshalText renders the word.
func (s Signal) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// byHand reports whether it was a person.
func (s Signal) byHand() bool { return s == Operator || s == Settings }

// trouble reports whether it is a sign of overload.
func (s Signal) trouble() bool { return s == RunQueue || s == TimeOuts || s == Utilization }

// Subject is what a Change is about.
type Subject uint8

// The subjects.
const (
	Limit  Subject = iota // how many requests may be in flight
	Level                 // how much the slow layer drops
	Strain                // how much is dropped at once, because the processors are late
)

// String is limit, level or strain.
func (s Subject) String() string { return [...]string{"limit", "level", "strain"}[s] }

// MarshalText renders the word.
func (s Subject) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Change is one movement of the limit, the level or the strain: a step, or
// steps that followed each other closely.
type Change struct {
	Subject Subject `json:"subject"`
	Signal  Signal  `json:"signal"` // of the first step that was for trouble, or of the first
	Value   float64 `json:"value"`  // of the signal, at its last step
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Least   float64 `json:"least"` // that it was in between; From or To unless it went to and fro
	Most    float64 `json:"most"`
	Steps   int     `json:"steps"`
	Began   int64   `json:"began"` // nanoseconds since the epoch
	Ended   int64   `json:"ended"`
}

// step is a change of one step.
func step(what Subject, why Signal, value float64, from, to float64) Change {
	return Change{Subject: what, Signal: why, Value: value, From: from, To: to, Least: min(from, to), Most: max(from, to), Steps: 1}
}

// at is the change at a moment.
func (c Change) at(now int64) Change {
	c.Began, c.Ended = now, now
	return c
}

// String tells the change in words.
func (c Change) String() string {
	between := ""
	if !c.straight() {
		between = fmt.Sprintf(" (%.4g … %.4g)", c.Least, c.Most)
	}
	return fmt.Sprintf("%s %.4g to %.4g%s in %v: %s %.4g",
		c.Subject, c.From, c.To, between, time.Duration(c.Ended-c.Began).Round(time.Millisecond), c.Signal, c.Value)
}

// straight reports whether the change went one way.
func (c *Change) straight() bool { return c.Least == min(c.From, c.To) && c.Most == max(c.From, c.To) }

// timeline keeps the changes of the last hour, at most as many as it has room
// for: then the oldest are forgotten.
type timeline struct {
	mu      sync.Mutex
	changes [512]Change
	noted   int
}

const (
	timelineSpan = time.Hour
	timelineGap  = 10 * time.Second // steps that are closer are one change
	timelineSway = time.Minute      // how much of a going to and fro is one change
)

// note adds a step.
func (t *timeline) note(c Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for back := 1; back <= min(t.noted, len(t.changes)); back++ {
		last := t.entry(t.noted - back)
		if last.Subject != c.Subject {
			continue
		}
		if last.continuedBy(&c) {
			last.add(&c)
			return
		}
		break
	}
	*t.entry(t.noted) = c
	t.noted++
}

func (t *timeline) entry(i int) *Change { return &t.changes[i%len(t.changes)] }

// continuedBy reports whether a step belongs to a change: one that goes on the
// same way for the same reason, or one of many to and fro. What a person did
// stands for itself.
func (c *Change) continuedBy(next *Change) bool {
	if next.Began-c.Ended > int64(timelineGap) || c.Signal.byHand() || next.Signal.byHand() {
		return false
	}
	onward := c.straight() && c.Signal == next.Signal && (c.To > c.From) == (next.To > next.From)
	return onward || next.Began-c.Began <= int64(timelineSway)
}

// add takes a step into a change.
func (c *Change) add(next *Change) {
	if next.Signal.trouble() && !c.Signal.trouble() {
		c.Signal = next.Signal
	}
	if c.Signal == next.Signal {
		c.Value = next.Value
	}
	c.To, c.Ended = next.To, next.Ended
	c.Least, c.Most = min(c.Least, next.Least), max(c.Most, next.Most)
	c.Steps += next.Steps
}

// since lists the changes that had not ended before a moment, oldest first.
func (t *timeline) since(moment int64) []Change {
	list := []Change{} // in JSON an empty list, not null
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := max(0, t.noted-len(t.changes)); i < t.noted; i++ {
		if c := t.entry(i); c.Ended >= moment {
			list = append(list, *c)
		}
	}
	return list
}
