package load

import (
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Outcome is what became of an arrival. The zero value is an answer.
type Outcome uint8

// The outcomes that a Do may report.
const (
	Served  Outcome = iota // the service did what was asked
	Refused                // something in front of the service said no
	Failed                 // an error: connection, status, malformed answer
	GaveUp                 // the context's deadline passed before there was an answer
)

// Answer is what a Do learnt. Stage and Reason say who refused and why.
type Answer struct {
	Outcome Outcome
	Refusal Refusal
}

// Refusal is who said no, and why, in the words of the answer. A small closed
// set: it is a key of Cell.Refused.
type Refusal struct{ Stage, Reason string }

// Cell counts the arrivals of one class in one stretch of time. Every arrival
// is in Offered from the moment it was due, and in exactly one of the others
// when its end is known, so Offered − Settled() is what is still under way.
type Cell struct {
	Offered int
	Good    int // served inside the deadline, counted from the planned moment
	Late    int // served after it, or given up on
	Failed  int
	Unsent  int // could not be sent: too many outstanding, or due after the deadline already
	Refused map[Refusal]int
	Latency Histogram // of the good ones
}

// Cells holds one cell for each class, by priority.Class.Index.
type Cells [priority.Count]Cell

// Settled is how many arrivals have come to an end.
func (c *Cell) Settled() int { return c.Good + c.Late + c.Failed + c.Unsent + c.RefusedAll() }

// Admitted is how many were let through: served in time or not.
func (c *Cell) Admitted() int { return c.Good + c.Late }

// RefusedAll is how many were refused, by whomever.
func (c *Cell) RefusedAll() (n int) {
	for _, count := range c.Refused {
		n += count
	}
	return n
}

// RefusedBy is how many one stage refused, for whatever reason.
func (c *Cell) RefusedBy(stage string) (n int) {
	for refusal, count := range c.Refused {
		if refusal.Stage == stage {
			n += count
		}
	}
	return n
}

// GoodShare is the share of the offered that was good, 1 when none was offered.
func (c *Cell) GoodShare() float64 {
	if c.Offered == 0 {
		return 1
	}
	return float64(c.Good) / float64(c.Offered)
}

// Merge adds what another cell counted.
func (c *Cell) Merge(other *Cell) {
	c.Offered += other.Offered
	c.Good += other.Good
	c.Late += other.Late
	c.Failed += other.Failed
	c.Unsent += other.Unsent
	c.Latency.Merge(&other.Latency)
	for refusal, count := range other.Refused {
		c.refuse(refusal, count)
	}
}

func (c *Cells) settled() bool {
	for i := range c {
		if c[i].Settled() < c[i].Offered {
			return false
		}
	}
	return true
}

func (c *Cell) refuse(r Refusal, n int) {
	if c.Refused == nil {
		c.Refused = map[Refusal]int{}
	}
	c.Refused[r] += n
}

// All merges the cells of all classes.
func (c *Cells) All() (sum Cell) {
	for i := range c {
		sum.Merge(&c[i])
	}
	return sum
}

// end counts one answer, in time or not.
func (c *Cell) end(answer Answer, took, deadline time.Duration) {
	switch {
	case answer.Outcome == Refused:
		c.refuse(answer.Refusal, 1)
	case answer.Outcome == Failed:
		c.Failed++
	case answer.Outcome == GaveUp || took > deadline:
		c.Late++
	default:
		c.Good++
		c.Latency.Add(took)
	}
}
