package concurrency

import (
	"errors"
	"fmt"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// Stage is the concurrent requests limiter. It is immutable and safe for
// concurrent use: changed limits are a new Stage, and no holder is lost.
type Stage struct {
	table   *match.Table
	rules   []rule
	byRoute [][]int32 // route id → rules worth asking, in order
	looks   bool      // some rule refuses all
	learns  bool      // some rule adapts
}

var (
	_ pipeline.Sharer   = (*Stage)(nil)
	_ pipeline.Streamer = (*Stage)(nil)
	_ pipeline.Quiet    = (*Stage)(nil)
	_ pipeline.Learner  = (*Stage)(nil)
	_ pipeline.Ticker   = (*Stage)(nil)
)

// New prepares a stage. state carries adaptive caps over from the stage that
// this one replaces; nil starts afresh. The error names every fault.
func New(c Config, state *State) (*Stage, error) {
	if state == nil {
		state = NewState()
	}
	t, err := c.table()
	if err != nil {
		return nil, err
	}
	s := &Stage{table: t}
	var errs []error
	var matchers []*match.Matcher
	names := map[string]bool{}
	for i := range c.Limits {
		l := &c.Limits[i]
		r, err := l.compile(t, state)
		if err == nil && names[l.Name] {
			err = fmt.Errorf("concurrency: the name %q is taken", l.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("limits[%d]: %w", i, err))
			continue
		}
		names[l.Name] = true
		s.rules = append(s.rules, r)
		matchers = append(matchers, r.matcher)
		s.looks = s.looks || r.refusesSome()
		s.learns = s.learns || r.adaptive != nil
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.byRoute = t.Index(matchers)
	return s, nil
}

func (r *rule) refusesSome() bool {
	if r.slots.refuses() {
		return true
	}
	return r.overrides.Any((*caps).refuses)
}

func (c *caps) refuses() bool { return c.short == nil && !c.unlimited }

// Looks reports whether some rule can refuse, or charges, without the shared
// store.
func (s *Stage) Looks() bool { return s.looks }

// Look refuses what no store is needed for: limits of nothing.
func (s *Stage) Look(r *pipeline.Request) pipeline.Decision {
	for _, i := range s.byRoute[s.table.Resolve(&r.Subject)] {
		if c, meant := s.rules[i].capsFor(r); meant && c.refuses() {
			r.Detail = pipeline.Detail{Rule: s.rules[i].name, RetryAfter: store.Never}
			return pipeline.Refuse(pipeline.TooManyInFlight)
		}
	}
	return pipeline.Decision{}
}

// Claims names the slots that a request needs.
func (s *Stage) Claims(r *pipeline.Request, claims []store.Claim) []store.Claim {
	for _, i := range s.byRoute[s.table.Resolve(&r.Subject)] {
		rule := &s.rules[i]
		if rule.plain {
			claims = store.AppendClaim(claims, r.Caller.ID, rule.slots.short, 1)
			continue
		}
		c, meant := rule.capsFor(r)
		if !meant || c.short == nil {
			continue
		}
		l := c.short
		if rule.adaptive != nil && c == &rule.slots {
			l = rule.adaptive.limit.Load()
		}
		claims = store.AppendClaim(claims, rule.owner.Key(r), l, 1)
	}
	return claims
}

// StreamClaims names the slots that a long-lived request needs instead.
func (s *Stage) StreamClaims(r *pipeline.Request, claims []store.Claim) []store.Claim {
	for _, i := range s.byRoute[s.table.Resolve(&r.Subject)] {
		rule := &s.rules[i]
		if c, meant := rule.capsFor(r); meant && c.stream != nil {
			claims = store.AppendClaim(claims, rule.owner.Key(r), c.stream, 1)
		}
	}
	return claims
}

// capsFor is what a rule holds a request to; meant is false when the rule is
// not about the request.
func (r *rule) capsFor(req *pipeline.Request) (c *caps, meant bool) {
	if !r.classes.Has(req.Class) || !r.always && !r.matcher.Match(&req.Subject) {
		return nil, false
	}
	if o, ok := r.overrides.Of(&req.Caller); ok {
		return o, true
	}
	return &r.slots, true
}
