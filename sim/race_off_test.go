//go:build !race

package sim

const (
	few  = 40
	race = false
)
