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

// Change is one movement of the limit or the level: a step, or steps in the
// same direction that followed each other closely.
type Change struct {
	Subject Subject `json:"subject"`
	Signal  Signal  `json:"signal"`
	Value   float64 `json:"value"` // of the signal, at the last step
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Began   int64   `json:"began"` // nanoseconds since the epoch
	Ended   int64   `json:"ended"`
}

// String tells the change in words.
func (c Change) String() string {
	return fmt.Sprintf("%s %.4g to %.4g in %v: %s %.4g",
		c.Subject, c.From, c.To, time.Duration(c.Ended-c.Began).Round(time.Millisecond), c.Signal, c.Value)
}

// timeline keeps the changes of the last hour, at most as many as it has room
// for: then the oldest are forgotten.
type timeline struct {
	mu      sync.Mutex
	changes [256]Change
	noted   int
}

const (
	timelineSpan = time.Hour
	timelineGap  = 10 * time.Second // steps that are closer are one change
)

// note adds a step.
func (t *timeline) note(c Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for back := 1; back <= min(t.noted, len(t.changes)); back++ {
		last := t.at(t.noted - back)
		if last.Subject != c.Subject {
			continue
		}
		if last.continuedBy(&c) {
			last.To, last.Value, last.Ended = c.To, c.Value, c.Ended
			return
		}
		break
	}
	*t.at(t.noted) = c
	t.noted++
}

func (t *timeline) at(i int) *Change { return &t.changes[i%len(t.changes)] }

func (c *Change) continuedBy(next *Change) bool {
	return c.Signal == next.Signal && next.Began-c.Ended <= int64(timelineGap) && (c.To > c.From) == (next.To > next.From)
}

// since lists the changes that had not ended before a moment, oldest first.
func (t *timeline) since(moment int64) (list []Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := max(0, t.noted-len(t.changes)); i < t.noted; i++ {
		if c := t.at(i); c.Ended >= moment {
			list = append(list, *c)
		}
	}
	return list
}
