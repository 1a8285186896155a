//go:build race

package sim

// The race detector makes a run ten times as long.
const (
	few  = 3
	race = true
)
