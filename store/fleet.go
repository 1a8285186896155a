package store

import (
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// DefaultBeat is how often a worker speaks to its fleet.
const DefaultBeat = 500 * time.Millisecond

// PerClass holds one figure for each class, by Class.Index.
type PerClass [priority.Count]float64

// Sum adds the figures of all classes.
func (p PerClass) Sum() (sum float64) {
	for _, v := range p {
		sum += v
	}
	return sum
}

// Report is what a worker tells the fleet at each heartbeat.
type Report struct {
	Worker   string // unique in the fleet; another process of the same name takes its place
	Epoch    uint64 // drawn at each start, so a restart is not taken for the old process
	Now      int64  // the worker's clock; in-process drivers decide by it
	Beat     time.Duration
	Draining bool
	Capacity float64  // requests that this worker may have in flight
	Reserve  float64  // share of the fleet's capacity kept for critical traffic, 0 … 1
	Declared float64  // the fleet's capacity when it is declared, else 0
	Lease    float64  // non-critical requests that the lease it holds now allows; 0 when it holds none
	InFlight PerClass // averaged over the beat
	Demanded PerClass // in flight if nothing had been refused, averaged over the beat
	Refused  PerClass // requests refused by the fleet stage during the beat
}

// View is what the fleet tells a worker at each heartbeat.
type View struct {
	Lease      float64       // non-critical requests that this worker may have in flight
	LeaseFor   time.Duration // how long the lease holds without another heartbeat
	Capacity   float64       // of the fleet; 0 when no worker knows its own
	InFlight   PerClass      // of the fleet
	Demanded   PerClass      // of the fleet
	Live       int           // workers heard of within three beats, and not shutting down
	Stale      int           // workers not heard of since, and not yet forgotten
	Drained    int           // workers that are shutting down
	Learning   bool          // the store is young: its sums are not yet everybody's
	LowTrust   bool          // many workers fell silent at once: capacity is held at half of the recent high
	Generation uint64        // of the control state
}
