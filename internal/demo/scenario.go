package demo

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
)

// Config sets a demonstration. The zero value lacks only Out.
type Config struct {
	// Duration of the load on the protected service, 8s or more. Default 16s.
	// The comparison takes a little more than half as long again.
	Duration time.Duration
	// Multiple of the capacity that is offered at the height, 1 … 10. Default 3.
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
}

// calm is the multiple of the capacity that is offered before and after.
const calm = 0.6

const (
	defaultDuration = 16 * time.Second
	shortest        = 8 * time.Second
	defaultMultiple = 3
	highest         = 10 // more is a test of this machine, not of the stages
	minCompared     = 9 * time.Second
)

// prepared fills in defaults and names every fault.
func (c Config) prepared() (Config, error) {
	if c.Duration == 0 {
		c.Duration = defaultDuration
	}
	if c.Multiple == 0 {
		c.Multiple = defaultMultiple
	}
	if c.Size == nil {
		c.Size = func() (int, int, bool) { return 0, 0, false }
	}
	var errs []error
	if c.Duration < shortest {
		errs = append(errs, fmt.Errorf("demo: duration must be %v or more, got %v", shortest, c.Duration))
	}
	if !(c.Multiple >= 1 && c.Multiple <= highest) {
		errs = append(errs, fmt.Errorf("demo: multiple must be 1 to %d, got %v", highest, c.Multiple))
	}
	if c.Out == nil {
		errs = append(errs, errors.New("demo: out is missing"))
	}
	return c, errors.Join(errs...)
}

// The phases of the load.
const (
	before = iota
	height
	after
)

// phases splits a length into calm, height and calm, each of whole seconds.
func (c *Config) phases(length time.Duration) []load.Phase {
	first := max(2*time.Second, (length / 5).Truncate(time.Second))
	last := max(3*time.Second, (length / 4).Truncate(time.Second))
	return []load.Phase{
		before: {Name: "before", Multiple: calm, Duration: first},
		height: {Name: "height", Multiple: c.Multiple, Duration: (length - first - last).Truncate(time.Second)},
		after:  {Name: "after", Multiple: calm, Duration: last},
	}
}

func (c *Config) plan(capacity float64, length time.Duration) load.Plan {
	return load.Plan{Base: capacity, Phases: c.phases(length), Seed: c.Seed}
}

// compared is how long the unprotected service is loaded: long enough to see
// what becomes of it, and that it does not come back by itself.
func (c *Config) compared() time.Duration {
	return min(c.Duration, max(minCompared, c.Duration/2).Truncate(time.Second))
}
