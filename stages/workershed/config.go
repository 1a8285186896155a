package workershed

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Config sets the stage. The zero value is the default of every field.
type Config struct {
	// MaxInFlight is how many requests may be in flight at most, and the limit
	// to start with, 1 … 16384. Default 200. Take 1.25 to 2 times what
	// saturates the worker.
	MaxInFlight int
	// ClassShare is the share of the limit up to which each class is admitted
	// at once, by Class.Index, least important first: 0 … 1, never falling, 1
	// for Critical. All zero is the default: 0.5, 0.65, 0.8, 1. A share of 0
	// admits nothing of the class.
	ClassShare [priority.Count]float64
	// MaxWait is how long a request may wait for a place, up to 10s, and never
	// more than a quarter of what is left of its deadline; where its class has
	// had somebody waiting for 100ms, half of it. Default 40ms.
	MaxWait time.Duration
	// QueuePerClass is how many requests of a class may wait, 1 … 100000, or
	// NoQueue. Default 64.
	QueuePerClass int
	// Adaptive says what lowers the limit, and drops cohorts at once where a
	// lower limit would not help. Default RunQueueDelay.
	Adaptive Adaptive
	// Ramp sets the pace of the slow layer. Default Stripe.
	Ramp Ramp
	// RampUp and RampDown are how long the slow layer takes to drop one class,
	// at full utilization, and to let one in again, at none: 1s … 1h, and
	// RampDown not less than RampUp. Default what Ramp says; with RampUp
	// alone, RampDown is the longer of both.
	RampUp, RampDown time.Duration
	// MaxStreams is how many long-lived requests may be open, 1 … 1000000.
	// Default ten times MaxInFlight: they mostly wait.
	MaxStreams int
	// Exempt picks requests that no load refuses, such as probes. It is called
	// concurrently, twice for each request, and must be quick. Nil picks none.
	Exempt func(*pipeline.Request) bool
	// ExemptMax is how many exempt requests may be in flight as such, 1 … 1000;
	// what is above is judged like any other request. Default 10.
	ExemptMax int
}

// NoQueue as QueuePerClass refuses at once what finds no room.
const NoQueue = -1

// Adaptive says what the fast layer adapts to. The zero value is RunQueueDelay.
type Adaptive string

// The ways to adapt.
const (
	RunQueueDelay Adaptive = "run-queue" // the delay of the Go scheduler, and time-outs
	Fixed         Adaptive = "fixed"     // nothing
)

// Ramp is a pace of the slow layer. The zero value is Stripe.
type Ramp string

// The paces.
const (
	Stripe Ramp = "stripe" // after 28s of trouble a class in 120s, and back as slowly
	Fast   Ramp = "fast"   // after 3s of trouble a class in 10s, and back in 20s
	NoRamp Ramp = "off"    // the slow layer drops nothing
)

const (
	defaultMaxInFlight = 200
	defaultMaxWait     = 40 * time.Millisecond
	defaultQueue       = 64
	defaultExempt      = 10
	streamsPerSlot     = 10

	mostInFlight = 16_384
	mostWaiting  = 100_000
	mostStreams  = 1_000_000
	mostExempt   = 1_000
)

var defaultShares = [priority.Count]float64{0.5, 0.65, 0.8, 1}

var ramps = map[Ramp]ramp{
	"":     {up: 120 * time.Second, down: 120 * time.Second, hold: 28 * time.Second, window: 8 * time.Second},
	Stripe: {up: 120 * time.Second, down: 120 * time.Second, hold: 28 * time.Second, window: 8 * time.Second},
	Fast:   {up: 10 * time.Second, down: 20 * time.Second, hold: 3 * time.Second, window: 2 * time.Second},
	NoRamp: {up: 120 * time.Second, down: 120 * time.Second, hold: 28 * time.Second, window: 8 * time.Second},
}

// settings are a checked configuration with its defaults filled in.
type settings struct {
	maxInFlight   int
	shares        shares
	maxWait       time.Duration
	queuePerClass int
	adapts, ramps bool
	ramp          ramp
	maxStreams    int
	exempt        func(*pipeline.Request) bool
	exemptMax     int
}

// compile checks a configuration; the error names every fault.
func (c *Config) compile() (*settings, error) {
	f := faults{}
	s := &settings{
		maxInFlight:   f.number("max_in_flight", c.MaxInFlight, defaultMaxInFlight, mostInFlight),
		maxWait:       f.duration("max_wait", c.MaxWait, defaultMaxWait, [2]time.Duration{1, 10 * time.Second}),
		queuePerClass: c.QueuePerClass,
		adapts:        c.Adaptive != Fixed,
		ramps:         c.Ramp != NoRamp,
		exempt:        c.Exempt,
		exemptMax:     f.number("exempt_max", c.ExemptMax, defaultExempt, mostExempt),
	}
	s.maxStreams = f.number("max_streams", c.MaxStreams, streamsPerSlot*s.maxInFlight, mostStreams)
	if c.QueuePerClass != NoQueue {
		s.queuePerClass = f.number("queue_per_class", c.QueuePerClass, defaultQueue, mostWaiting)
	}
	if c.Adaptive != "" && c.Adaptive != RunQueueDelay && c.Adaptive != Fixed {
		f.add("adaptive: unknown word %q, allowed: %s, %s", c.Adaptive, RunQueueDelay, Fixed)
	}
	s.shares = c.compileShares(&f)
	s.ramp = c.compileRamp(&f)
	return s, errors.Join(f...)
}

func (c *Config) compileShares(f *faults) shares {
	of := c.ClassShare
	if of == [priority.Count]float64{} {
		of = defaultShares
	}
	for i, share := range of {
		if !(share >= 0 && share <= 1) {
			f.add("class_share: %s must be from 0 to 1, got %v", priority.FromIndex(i), share)
		}
		if i > 0 && share < of[i-1] {
			f.add("class_share: %s must not be below %s", priority.FromIndex(i), priority.FromIndex(i-1))
		}
	}
	if of[priority.Count-1] != 1 {
		f.add("class_share: critical must be 1; lower max_in_flight instead")
	}
	return newShares(of)
}

func (c *Config) compileRamp(f *faults) ramp {
	r, known := ramps[c.Ramp]
	if !known {
		f.add("ramp: unknown word %q, allowed: %s, %s, %s", c.Ramp, Stripe, Fast, NoRamp)
	}
	bounds := [2]time.Duration{time.Second, time.Hour}
	r.up = f.duration("ramp_up", c.RampUp, r.up, bounds)
	r.down = f.duration("ramp_down", c.RampDown, max(r.down, r.up), bounds)
	if r.down < r.up {
		f.add("ramp_down: must not be below ramp_up (%v), got %v: what was shed would come back before the worker has recovered", r.up, r.down)
	}
	return r
}

// faults collects what is wrong with a configuration.
type faults []error

func (f *faults) add(format string, args ...any) {
	*f = append(*f, fmt.Errorf("workershed: "+format, args...))
}

// number is a number with its default, from 1 to most.
func (f *faults) number(name string, n, fallback, most int) int {
	if n == 0 {
		return fallback
	}
	if n < 1 || n > most {
		f.add("%s: must be from 1 to %d, got %d", name, most, n)
	}
	return n
}

// duration is a duration with its default, within bounds.
func (f *faults) duration(name string, d, fallback time.Duration, bounds [2]time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	if d < bounds[0] || d > bounds[1] {
		f.add("%s: must be from %v to %v, got %v", name, bounds[0], bounds[1], d)
	}
	return d
}
