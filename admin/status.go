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

	// Of the table in this process's memory: its keys, the bound of their
	// number, and the claims that were decided by the state which keys share
	// for which there was no room.
	Keys    int64  `json:"keys"`
	MaxKeys int64  `json:"max_keys"`
	Spilled uint64 `json:"spilled"`
}

// Stage is one entry of the plan.
type Stage struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Mode    string `json:"mode"`
	OnFault string `json:"on_fault"`
	Detail  any    `json:"detail,omitempty"` // what the stage tells of itself
}
