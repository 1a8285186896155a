package overrides

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Config sets the stage. The zero value refuses nothing.
type Config struct {
	// Table resolves routes; it must hold the routes that sheds name. Nil makes
	// a table of just those.
	Table *match.Table
	// Sheds that hold at once; where several mean a request, the one that
	// sheds most counts. Default none.
	Sheds []Shed
	// Blocks are the callers whose requests are refused, all of them.
	Blocks []Block
	// Exempt are the callers that no shed means, as Block names them. Blocks do.
	Exempt []string
}

// Shed refuses a part of the traffic.
type Shed struct {
	// Rule names the shed in decisions.
	Rule string
	// Route is the pattern of the requests that are meant. Default: all.
	Route string
	// Below is the class below which requests are meant, from Normal on.
	Below priority.Class
	// Percent of callers that are refused, 1 … 100.
	Percent int
}

// Block refuses a caller.
type Block struct {
	// Rule names the block in decisions.
	Rule string
	// Caller is the caller's name, as configuration names it, or id: and its
	// key, store.Key.String, when the name is a secret.
	Caller string
}

func (c *Config) table() (*match.Table, error) {
	if c.Table != nil {
		return c.Table, nil
	}
	var paths []string
	for i := range c.Sheds {
		if r := c.Sheds[i].Route; r != "" {
			paths = append(paths, r)
		}
	}
	return match.NewTable(paths...)
}

// compile spreads a shed over the cells of its routes.
func (s *Shed) compile(t *match.Table, cells [][priority.Count]cell, rule int32) error {
	var errs []error
	if s.Percent < 1 || s.Percent > 100 {
		errs = append(errs, fmt.Errorf("overrides: percent must be 1 … 100, got %d", s.Percent))
	}
	if s.Below.Index() == 0 {
		errs = append(errs, errors.New("overrides: below must be normal, high or critical: there is nothing below low"))
	}
	m, err := t.Compile(match.Rule{Path: s.Route})
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	cohorts := int16(math.Ceil(float64(s.Percent) / 100 * priority.Cohorts))
	for route := range cells {
		if !m.CoversRoute(route) {
			continue
		}
		for class := range s.Below.Index() {
			if cells[route][class].cohorts < cohorts {
				cells[route][class] = cell{cohorts, rule}
			}
		}
	}
	return nil
}

// callers are what is to become of some callers.
type callers struct {
	byName map[string]fate
	byKey  map[store.Key]fate
}

// add says what is to become of a caller. A block is not taken back by an
// exemption.
func (c *callers) add(caller string, f fate) error {
	if text, isKey := strings.CutPrefix(caller, "id:"); isKey {
		key, err := store.ParseKey(text)
		if err != nil {
			return fmt.Errorf("overrides: caller %q: %w", caller, err)
		}
		if !c.byKey[key].blocked {
			c.byKey[key] = f
		}
		return nil
	}
	if caller == "" {
		return errors.New("overrides: a caller needs a name")
	}
	if !c.byName[caller].blocked {
		c.byName[caller] = f
	}
	return nil
}
