package demo

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
)

// Config sets a demonstration. The zero value lacks only Out.
type Config struct {
	// Duration of the load on the protected service, 8s or more. Default 16s.
	// The comparison takes a little more than half as long again.
	Duration time.Duration
	// Multiple of the capacity that is offered at the height, 1.5 … 10. Default 3.
	Multiple float64
	// Seed selects the arrivals. Any value.
	Seed uint64
	// Alone leaves out the comparison with the unprotected service.
	Alone bool
	// Plain writes a line a second instead of a table that is drawn anew.
	Plain bool
	// Colour of what is drawn. Default none.
	Colour Colour
	// Out is where it is shown. Required.
	Out io.Writer
	// Size tells the width and height of the terminal behind Out, and whether
	// there is one. Default: there is none.
	Size func() (width, height int, ok bool)

	pace pace // 0 means usual
}

// calm is the multiple of the capacity that is offered before and after.
const calm = 0.6

// The defaults.
const (
	DefaultDuration = 16 * time.Second
	DefaultMultiple = 3
)

const (
	shortest    = 8 * time.Second
	lowest      = 1.5 // less is no overload
	highest     = 10  // more is a test of this machine, not of the stages
	minBefore   = 2 * time.Second
	minAfter    = 3 * time.Second
	minCompared = 9 * time.Second
	minCalm     = minBefore + minAfter
)

// ErrUsage is the error of a configuration that is out of range.
var ErrUsage = errors.New("demo: not in range")

// prepared fills in defaults and names every fault.
func (c Config) prepared() (Config, error) {
	if c.Duration == 0 {
		c.Duration = DefaultDuration
	}
	if c.Multiple == 0 {
		c.Multiple = DefaultMultiple
	}
	c.pace = max(c.pace, usual)
	if c.Size == nil {
		c.Size = func() (int, int, bool) { return 0, 0, false }
	}
	var faults []string
	if c.Duration < shortest {
		faults = append(faults, fmt.Sprintf("duration must be %v or more, got %v", shortest, c.Duration))
	}
	if !(c.Multiple >= lowest && c.Multiple <= highest) {
		faults = append(faults, fmt.Sprintf("multiple must be %v to %v, got %v", lowest, highest, c.Multiple))
	}
	if c.Out == nil {
		faults = append(faults, "out is missing")
	}
	if len(faults) > 0 {
		return c, fmt.Errorf("%w: %s", ErrUsage, strings.Join(faults, "; "))
	}
	return c, nil
}

// The service does 500 requests a second, so that the load at the height, the
// proxy and the service together leave most of a small machine idle, and its
// clients wait long enough that a machine which is shared with others does not
// decide the outcome.
const (
	connections = 20
	query       = 40 * time.Millisecond
	deadline    = 500 * time.Millisecond
)

// The phases of the load.
const (
	before = iota
	height
	after
)

// phases splits a length into calm, height and calm, each of whole seconds.
func (c *Config) phases(length time.Duration) []load.Phase {
	first := max(minBefore, (length / 5).Truncate(time.Second))
	last := max(minAfter, (length / 4).Truncate(time.Second))
	return []load.Phase{
		before: {Name: "before", Multiple: calm, Duration: first},
		height: {Name: "height", Multiple: c.Multiple, Duration: (length - first - last).Truncate(time.Second)},
		after:  {Name: "after", Multiple: calm, Duration: last},
	}
}

func (c *Config) plan(capacity float64, length time.Duration) load.Plan {
	return load.Plan{Base: capacity, Phases: c.phases(length), Seed: c.Seed, Deadline: c.pace.deadline()}
}

// compared is how long the unprotected service is loaded: long enough to see
// what becomes of it, and that it does not come back by itself.
func (c *Config) compared() time.Duration {
	return max(minCompared, c.Duration/2, minCalm+3*c.pace.deadline()).Truncate(time.Second)
}
