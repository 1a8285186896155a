package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// Stage is the request rate limiter. It is immutable and safe for concurrent
// use: changed limits are a new Stage, and the store carries their state over.
type Stage struct {
	table    *match.Table
	rules    []rule
	byRoute  [][]int32 // route id → rules worth asking, in order
	attempts store.Driver
	looks    bool // some rule can refuse, or charges, without the shared store
}

var (
	_ pipeline.Sharer = (*Stage)(nil)
	_ pipeline.Quiet  = (*Stage)(nil)
)

// New prepares a stage. attempts keeps the state of limits that charge
// attempts, in this process's memory; it may be nil when none does. The error
// names every fault.
func New(c Config, attempts store.Driver) (*Stage, error) {
	t, err := c.table()
	if err != nil {
		return nil, err
	}
	s := &Stage{table: t, attempts: attempts}
	var errs []error
	var matchers []*match.Matcher
	names := map[string]bool{}
	for i := range c.Limits {
		l := &c.Limits[i]
		r, err := l.compile(t)
		if err == nil && names[l.Name] {
			err = fmt.Errorf("ratelimit: the name %q is taken", l.Name)
		}
		if err == nil && l.Charge == Attempts && attempts == nil {
			err = errors.New("ratelimit: charging attempts needs a store in memory")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("limits[%d]: %w", i, err))
			continue
		}
		names[l.Name] = true
		s.rules = append(s.rules, r)
		matchers = append(matchers, r.matcher)
		s.looks = s.looks || r.refusesSome() || r.attempts
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.byRoute = t.Index(matchers)
	return s, nil
}

func (r *rule) refusesSome() bool {
	if r.limit == nil && !r.unlimited {
		return true
	}
	return r.overrides.Any(func(o override) bool { return o.limit == nil && !o.unlimited })
}

// Looks reports whether some rule can refuse, or charges, without the shared
// store.
func (s *Stage) Looks() bool { return s.looks }

// Look refuses what no store is needed for: limits of nothing, and limits that
// charge attempts, which this charges.
func (s *Stage) Look(r *pipeline.Request) pipeline.Decision {
	route := s.table.Resolve(&r.Subject)
	for _, i := range s.byRoute[route] {
		rule := &s.rules[i]
		l, meant := rule.limitFor(r)
		switch {
		case !meant:
		case l == nil:
			r.Detail = pipeline.Detail{Rule: rule.name, RetryAfter: store.Never}
			return pipeline.Refuse(pipeline.RateLimited)
		case rule.attempts:
			if d := s.attempt(r, rule, l, route); d.Verdict != pipeline.Admit {
				return d
			}
		}
	}
	return pipeline.Decision{}
}

// Claims names the tokens that a request costs.
func (s *Stage) Claims(r *pipeline.Request, claims []store.Claim) []store.Claim {
	route := s.table.Resolve(&r.Subject)
	for _, i := range s.byRoute[route] {
		rule := &s.rules[i]
		if rule.plain && r.Cost == 1 {
			claims = store.AppendClaim(claims, r.Caller.ID, rule.limit, rule.cost[route])
			continue
		}
		l, meant := rule.limitFor(r)
		if !meant || l == nil || rule.attempts {
			continue
		}
		if cost := rule.costOf(r, route); cost > 0 {
			claims = store.AppendClaim(claims, rule.owner.Key(r), l, cost)
		}
	}
	return claims
}

// limitFor is the limit that a rule holds a request to, nil refusing it; meant
// is false when the rule is not about the request.
func (r *rule) limitFor(req *pipeline.Request) (l *store.Limit, meant bool) {
	if !r.classes.Has(req.Class) || !r.always && !r.matcher.Match(&req.Subject) {
		return nil, false
	}
	if o, ok := r.overrides.Of(&req.Caller); ok {
		return o.limit, !o.unlimited
	}
	return r.limit, !r.unlimited
}

// costOf is the route's cost times the request's own, saturating. A negative
// cost, which would mint tokens, is a huge one here, that no limit can grant.
func (r *rule) costOf(req *pipeline.Request, route int) int64 {
	hi, lo := bits.Mul64(uint64(req.Cost), uint64(r.cost[route]))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// attempt charges a look in this worker's memory.
func (s *Stage) attempt(r *pipeline.Request, rule *rule, l *store.Limit, route int) pipeline.Decision {
	claims := [1]store.Claim{{Owner: rule.owner.Key(r), Limit: l, Cost: rule.costOf(r, route)}}
	ask := store.ClaimOne
	if r.Trial {
		ask = store.PeekOne
	}
	g, err := ask(context.Background(), s.attempts, claims[0], r.Now)
	if err != nil || g.OK {
		return pipeline.Decision{}
	}
	r.Detail = pipeline.Detail{Rule: rule.name, Limit: l, Remaining: g.Remaining, RetryAfter: g.RetryAfter, ResetAfter: g.ResetAfter}
	if g.RetryAfter == store.Never {
		return pipeline.Refuse(pipeline.CostTooLarge)
	}
	return pipeline.Refuse(pipeline.RateLimited)
}
