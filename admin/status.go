package admin

import "time"

// The states of a process.
const (
	Starting = "starting"
	Serving  = "serving"
	Draining = "draining" // takes no more, and ends what is in flight
)

// Status is the state of a process, as /status tells it. Durations are in
// nanoseconds.
type Status struct {
	Version  string        `json:"version"`
	State    string        `json:"state"`
	Started  time.Time     `json:"started"`
	Uptime   time.Duration `json:"uptime_ns"`
	Listen   string        `json:"listen"`
	Upstream string        `json:"upstream"`
	InFlight int           `json:"in_flight"`
	Config   Configuration `json:"config"`
	Store    Store         `json:"store"`
	Fleet    Fleet         `json:"fleet"`
	Stages   []Stage       `json:"stages"` // in the order of the plan
	Counts   Counts        `json:"counts"` // since the start
}

// Configuration says what a process runs by.
type Configuration struct {
	Source     string    `json:"source"`     // the file, or "built-in"
	Generation int       `json:"generation"` // 1 at the start, one more for each change that was applied
	Loaded     time.Time `json:"loaded"`
	// Error says why the last change was not applied; the one before runs on.
	Error   string    `json:"error,omitempty"`
	Refused time.Time `json:"refused,omitzero"` // when that was
	// AfterRestart lists keys whose changes count only after the next start.
	AfterRestart []string `json:"after_restart,omitempty"`
}

// Store says how the store of the limits does.
type Store struct {
	Driver string        `json:"driver"`
	State  string        `json:"state"` // ok, degraded or down
	Budget time.Duration `json:"budget_ns"`
	Place  string        `json:"place,omitempty"` // where a store elsewhere is; no secret
	Since  time.Time     `json:"since,omitzero"`  // when the state became so; absent while it was never otherwise
	Cause  string        `json:"cause,omitempty"` // the last failure, unless the state is ok
	Calls  *StoreCalls   `json:"calls,omitempty"` // of a store elsewhere

	// Of the table in this process's memory: its keys, the bound of their
	// number, and the claims that were decided by the state which keys share
	// for which there was no room.
	Keys    int64  `json:"keys"`
	MaxKeys int64  `json:"max_keys"`
	Spilled uint64 `json:"spilled"`
}

// StoreCalls counts what became of the calls of a store elsewhere, since the
// start.
type StoreCalls struct {
	UnderWay int `json:"under_way"` // now
	Queued   int `json:"queued"`    // returns that wait now

	Fallback  uint64 `json:"fallback"`  // decisions that were made by on_fault; the sum of the next four
	Failed    uint64 `json:"failed"`    // the store answered with an error
	Late      uint64 `json:"late"`      // the store did not answer within the budget
	Skipped   uint64 `json:"skipped"`   // the store was down, and not asked
	Crowded   uint64 `json:"crowded"`   // too many calls were under way
	Reclaimed uint64 `json:"reclaimed"` // grants that came too late, and were given back
	Dropped   uint64 `json:"dropped"`   // returns that found the queue full
	Lost      uint64 `json:"lost"`      // returns that were sent, and may not have arrived
}

// Fleet says what this worker last heard of its fleet.
type Fleet struct {
	Worker   string        `json:"worker"` // this one's name
	Live     int           `json:"live"`   // workers, this one among them
	Stale    int           `json:"stale"`  // not heard of for three heartbeats
	Drained  int           `json:"drained"`
	Learning bool          `json:"learning,omitempty"`  // the store is young: not everybody has reported yet
	LowTrust bool          `json:"low_trust,omitempty"` // many fell silent at once: they are taken to be there
	Missed   int           `json:"missed"`              // heartbeats that were not answered since
	Age      time.Duration `json:"age_ns"`              // of what was heard; 0 when nothing was
}

// Stage is one entry of the plan.
type Stage struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Mode    string `json:"mode"`
	OnFault string `json:"on_fault"`
	Detail  any    `json:"detail,omitempty"` // what the stage tells of itself
}
