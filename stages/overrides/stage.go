package overrides

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Stage refuses what an operator said.
type Stage struct {
	table   *match.Table
	cells   [][priority.Count]cell // by route id; nil when there is no shed
	rules   []string
	callers callers
	named   bool // some caller is blocked or exempt
}

var _ pipeline.Stage = (*Stage)(nil)

// cell is what is shed of a class on a route.
type cell struct {
	cohorts int16 // those below
	rule    int32
}

// fate is what becomes of a caller. The zero fate is everybody's.
type fate struct {
	blocked, exempt bool
	rule            string
}

// retryAfter is what clients are told that are shed: an operator's overrides
// last minutes, and are taken back by hand.
const retryAfter = 30 * time.Second

// New compiles overrides. The error names every fault.
func New(c Config) (*Stage, error) {
	t, err := c.table()
	if err != nil {
		return nil, err
	}
	s := &Stage{table: t, callers: callers{map[string]fate{}, map[store.Key]fate{}}}
	var errs []error
	if len(c.Sheds) > 0 {
		s.cells = make([][priority.Count]cell, t.Len())
	}
	for i := range c.Sheds {
		if err := c.Sheds[i].compile(t, s.cells, int32(i)); err != nil {
			errs = append(errs, fmt.Errorf("sheds[%d]: %w", i, err))
		}
		s.rules = append(s.rules, c.Sheds[i].Rule)
	}
	for i, b := range c.Blocks {
		if err := s.callers.add(b.Caller, fate{blocked: true, rule: b.Rule}); err != nil {
			errs = append(errs, fmt.Errorf("blocks[%d]: %w", i, err))
		}
	}
	for i, caller := range c.Exempt {
		if err := s.callers.add(caller, fate{exempt: true}); err != nil {
			errs = append(errs, fmt.Errorf("exempt[%d]: %w", i, err))
		}
	}
	s.named = len(c.Blocks)+len(c.Exempt) > 0
	return s, errors.Join(errs...)
}

// Look refuses blocked callers, and the cohorts that are shed.
func (s *Stage) Look(r *pipeline.Request) pipeline.Decision {
	var f fate
	if s.named {
		f = s.fate(r)
		if f.blocked {
			r.Detail = pipeline.Detail{Rule: f.rule, RetryAfter: store.Never}
			return pipeline.Refuse(pipeline.CallerBlocked)
		}
	}
	if s.cells == nil {
		return pipeline.Decision{}
	}
	c := &s.cells[s.table.Resolve(&r.Subject)][r.Class.Index()]
	if int16(r.Cohort) >= c.cohorts || f.exempt {
		return pipeline.Decision{}
	}
	r.Detail = pipeline.Detail{Rule: s.rules[c.rule], RetryAfter: retryAfter}
	return pipeline.Refuse(pipeline.OperatorShed)
}

// fate is what becomes of the caller of a request: a key says more than a name.
func (s *Stage) fate(r *pipeline.Request) fate {
	if f, ok := s.callers.byKey[r.Caller.ID]; ok {
		return f
	}
	return s.callers.byName[r.Caller.Name]
}
