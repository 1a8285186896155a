package fleetshed

import (
	"errors"
	"fmt"
	"math"

	"github.com/plimsoll-go/plimsoll/priority"
)

// DefaultReserve is the share of capacity that is kept for critical traffic.
const DefaultReserve = 0.20

// NoReserve keeps nothing for critical traffic.
const NoReserve = -1

// defaultCaps are the shares of the lease for Low, Normal, High and Critical,
// of which the last means nothing.
var defaultCaps = [priority.Count]float64{0.9, 0.95, 1, 1}

// Leaser tells what the fleet leases to this worker; fleet.Member is one. It is
// called on the path of every request that is not critical, concurrently, and
// must not wait or allocate.
type Leaser interface {
	// Room is how many non-critical requests may be in flight here at a moment
	// of the requests' clock, and whether that is known.
	Room(now int64) (requests float64, known bool)
}

// Config sets the stage. The zero value knows no capacity, and so admits
// everything.
type Config struct {
	// Reserve is the share of capacity that is kept for critical traffic, 0 …
	// 0.9. Default 0.20, see NoReserve. A lease has it taken off already; it
	// applies while there is none.
	Reserve float64
	// Declared is the fleet's capacity in requests in flight, 0 or more.
	// Default 0: not declared, and capacity is what the workers can do.
	Declared float64
	// Capacity is how many requests this worker may have in flight now, 0 when
	// that is not known: the limit of its own stage. Called while there is no
	// lease, on the path of requests. Nil: not known.
	Capacity func() float64
	// Lease is this worker's lease. Nil: there is none.
	Lease Leaser
	// ClassCaps are the shares of the lease up to which each class is admitted,
	// by Class.Index, least important first: 0 … 1, never falling; Critical's is
	// not used. All zero is the default: 0.9, 0.95, 1; with less, the bursts of
	// a worker at ease are refused. A share of 0 admits
	// nothing of the class.
	ClassCaps [priority.Count]float64
	// MaxStreams is how many long-lived requests that are not critical may
	// begin while as many or more are open, 0 or more. Default 0: no bound.
	MaxStreams int64
}

// complete fills what was left out, and names every fault.
func (c *Config) complete() error {
	switch c.Reserve {
	case 0:
		c.Reserve = DefaultReserve
	case NoReserve:
		c.Reserve = 0
	}
	if c.ClassCaps == [priority.Count]float64{} {
		c.ClassCaps = defaultCaps
	}
	var errs []error
	if !(c.Reserve >= 0 && c.Reserve <= 0.9) {
		errs = append(errs, fmt.Errorf("fleetshed: reserve must be 0 … 0.9, got %v", c.Reserve))
	}
	if !(c.Declared >= 0) || math.IsInf(c.Declared, 0) {
		errs = append(errs, fmt.Errorf("fleetshed: capacity must be 0 or more, got %v", c.Declared))
	}
	if c.MaxStreams < 0 {
		errs = append(errs, fmt.Errorf("fleetshed: max_streams must be 0 or more, got %d", c.MaxStreams))
	}
	return errors.Join(append(errs, c.checkCaps()...)...)
}

func (c *Config) checkCaps() (errs []error) {
	last := 0.0
	for _, class := range priority.All[:priority.Critical.Index()] {
		share := c.ClassCaps[class.Index()]
		if !(share >= 0 && share <= 1) {
			errs = append(errs, fmt.Errorf("fleetshed: class_caps.%s must be 0 … 1, got %v", class, share))
		}
		if share < last {
			errs = append(errs, fmt.Errorf("fleetshed: class_caps.%s must not be below that of a less critical class, got %v after %v", class, share, last))
		}
		last = share
	}
	return errs
}
