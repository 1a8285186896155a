package workershed

import (
	"math"

	"github.com/plimsoll-go/plimsoll/priority"
)

// shares are the parts of the limit up to which each class is admitted, by
// Class.Index, in units of 1/shareUnit. They never fall with the class, so the
// caps are nested.
type shares [priority.Count]int

const shareUnit = 10_000

// newShares rounds shares of 0 … 1 to units.
func newShares(of [priority.Count]float64) (s shares) {
	for i, f := range of {
		s[i] = int(math.Round(f * shareUnit))
	}
	return s
}

// capOf is how many requests may be in flight for a class to be admitted at
// once, rounded up: only a share of nothing is a cap of nothing.
func (s *shares) capOf(limit, class int) int {
	return (limit*s[class] + shareUnit - 1) / shareUnit
}

// all lists the caps by class.
func (s *shares) all(limit int) (caps [priority.Count]int) {
	for class := range caps {
		caps[class] = s.capOf(limit, class)
	}
	return caps
}
