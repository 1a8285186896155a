package ratelimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Config sets the stage. The zero value limits nothing.
type Config struct {
	// Table resolves routes; it must hold the paths that the limits name. Nil
	// makes a table of just those.
	Table *match.Table
	// Limits that a request may meet; it must pass all that mean it. At most
	// one of a name. Default none.
	Limits []Limit
}

// Limit is one limit and the requests that it is for.
type Limit struct {
	// Name is a label of metrics and headers, and part of the state's key:
	// letters, digits, - and _; unique among the limits.
	Name string
	// Match restricts the limit to some requests; Classes further to some
	// classes, none meaning all.
	Match   match.Rule
	Classes []priority.Class
	// Key says whose requests count together. None: everybody's.
	Key pipeline.Owner
	// Rate is how fast tokens come. A count of 0 refuses every request.
	Rate limit.Rate
	// Burst is how many tokens may wait to be spent, 1 or more. Default: the
	// rate's count. Of a leaky bucket it is how many requests may come beside
	// the first, 0 or more. Windows and the log ignore it.
	Burst int64
	// Algorithm is how tokens are counted. Default: token bucket.
	Algorithm store.Algorithm
	// Delay is, of a leaky bucket, how many of the burst pass without being
	// held, 0 … Burst; the others wait until the bucket has leaked so far.
	// NoDelay holds none. Others ignore both.
	Delay   int64
	NoDelay bool
	// Calendar makes the limit a quota: the rate's count in each day, week or
	// month of a place. Its algorithm is the fixed window, and the rate's
	// period counts for nothing. Default: none.
	Calendar limit.Calendar
	// Cost of a request. Default 1 token.
	Cost Cost
	// Overrides replace rate and burst for callers, as pipeline.Callers names them.
	Overrides map[string]Override
	// Unlimited admits what the limit matches: a limit can be switched off
	// without losing its place.
	Unlimited bool
	// Charge says when a request is charged. Default: when it is admitted.
	Charge Charge
}

// Cost is how many tokens a request costs.
type Cost struct {
	// Tokens is the cost of a request, 1 or more. Default 1.
	Tokens int64
	// ByRoute is the cost of requests of a route, by pattern.
	ByRoute map[string]int64
	// AfterServing settles the charge by the cost that the handler reports
	// when it is done; Tokens is then what is reserved before.
	AfterServing bool
}

// Override is what holds for one caller instead of the limit's own numbers.
type Override struct {
	Rate      limit.Rate
	Burst     int64
	Unlimited bool
}

// Charge says when a request is charged. The zero value charges what is admitted.
type Charge uint8

// The charges.
const (
	Admitted Charge = iota // a request that some other stage refuses costs its caller nothing
	Attempts               // each request is charged, from this worker's memory, whatever becomes of it
)

// rule is a prepared limit.
type rule struct {
	limit     *store.Limit // nil refuses all
	name      string
	matcher   *match.Matcher
	always    bool // the matcher has nothing to add to the route
	classes   priority.Set
	owner     pipeline.Owner
	cost      []int64 // by route
	overrides pipeline.Callers[override]
	unlimited bool
	attempts  bool
	plain     bool // it holds each caller of its routes to its own limit, at a cost: the rule of rules
}

type override struct {
	limit     *store.Limit // nil refuses all
	unlimited bool
}

// table is the configured table, or one of the paths that the limits name.
func (c *Config) table() (*match.Table, error) {
	if c.Table != nil {
		return c.Table, nil
	}
	var paths []string
	for i := range c.Limits {
		if p := c.Limits[i].Match.Path; p != "" {
			paths = append(paths, p)
		}
		paths = slices.AppendSeq(paths, maps.Keys(c.Limits[i].Cost.ByRoute))
	}
	return match.NewTable(paths...)
}

// compile prepares a limit; the error names every fault.
func (l *Limit) compile(t *match.Table) (r rule, err error) {
	var errs []error
	r = rule{name: l.Name, owner: l.Key, unlimited: l.Unlimited, attempts: l.Charge == Attempts}
	if err := store.ValidName(l.Name); err != nil {
		errs = append(errs, err)
	}
	if r.matcher, err = t.Compile(l.Match); err != nil {
		errs = append(errs, err)
	} else {
		r.always = r.matcher.ByRouteAlone()
	}
	r.classes = priority.SetOf(l.Classes...)
	if r.limit, err = l.prepare(l.Rate, l.Burst); err != nil {
		errs = append(errs, err)
	}
	if r.cost, err = l.Cost.byRoute(t); err != nil {
		errs = append(errs, err)
	}
	for caller, o := range l.Overrides {
		prepared, err := l.prepare(o.Rate, o.Burst)
		if err != nil && !o.Unlimited {
			errs = append(errs, fmt.Errorf("overrides[%s]: %w", caller, err))
		}
		if err := r.overrides.Set(caller, override{prepared, o.Unlimited}); err != nil {
			errs = append(errs, fmt.Errorf("overrides[%s]: %w", caller, err))
		}
	}
	free := slices.Contains(r.cost, 0)
	r.plain = r.always && r.classes == 0 && r.owner.CallerAlone() && len(l.Overrides) == 0 && r.limit != nil && !free && !r.unlimited && !r.attempts
	return r, errors.Join(errs...)
}

// prepare makes the store's limit; nil for a rate of nothing, which refuses all.
func (l *Limit) prepare(r limit.Rate, burst int64) (*store.Limit, error) {
	if r.Count == 0 {
		return nil, nil
	}
	prepared, err := l.Counted(r, burst)
	if err != nil {
		return nil, err
	}
	prepared.ChargeAfter = l.Cost.AfterServing
	return prepared, nil
}

// Counted is what the store counts by under the limit, with a rate above 0 and
// a burst in place of its own, as an override has them.
func (l *Limit) Counted(r limit.Rate, burst int64) (*store.Limit, error) {
	switch {
	case l.Calendar != limit.Calendar{} && l.Algorithm != store.FixedWindow && l.Algorithm != store.TokenBucket:
		return nil, fmt.Errorf("ratelimit: a quota of the calendar is a fixed window, not a %s", l.Algorithm)
	case l.Calendar != limit.Calendar{}:
		return store.NewQuota(l.Name, r.Count, l.Calendar)
	case l.Algorithm != store.LeakyBucket:
		return store.NewTokens(l.Name, l.Algorithm, r, burst)
	case l.NoDelay:
		return store.NewTokens(l.Name, l.Algorithm, r, burst)
	case l.Charge == Attempts && burst > l.Delay:
		return nil, errors.New("ratelimit: attempts are charged while a request is looked at, and cannot be held; set NoDelay")
	}
	return store.NewLeaky(l.Name, r, burst, min(l.Delay, burst))
}

// aboutRequests reports whether anything is set that only requests can meet.
func (l *Limit) aboutRequests() bool {
	m := &l.Match
	return m.Host+m.Path != "" || len(m.Methods)+len(m.Header)+len(l.Classes)+len(l.Key)+len(l.Cost.ByRoute)+len(l.Overrides) > 0 ||
		l.Cost.Tokens != 0 || l.Cost.AfterServing || l.Unlimited || l.Charge != Admitted
}

// byRoute is the cost of each route of a table.
func (c *Cost) byRoute(t *match.Table) ([]int64, error) {
	var errs []error
	cost := make([]int64, t.Len())
	base := c.Tokens
	if base == 0 {
		base = 1
	}
	if base < 1 {
		errs = append(errs, fmt.Errorf("ratelimit: cost must be 1 or more, got %d", c.Tokens))
	}
	for id := range cost {
		cost[id] = base
		if own, ok := c.ByRoute[t.Name(id)]; ok {
			cost[id] = own
			if own < 0 {
				errs = append(errs, fmt.Errorf("ratelimit: cost of %s must be 0 or more, got %d", t.Name(id), own))
			}
		}
	}
	return cost, errors.Join(errs...)
}
