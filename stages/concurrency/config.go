package concurrency

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// DefaultLease is how long a worker may stay silent before its slots are taken
// back.
const DefaultLease = 10 * time.Second

// streamsPerSlot is how many long-lived requests a caller may have for each
// short-lived one, unless that is configured: streams mostly wait.
const streamsPerSlot = 5

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
	// Max is how many requests may be in flight, 1 or more; 0 refuses all.
	Max int64
	// Min makes the cap adaptive: it falls from Max towards Min, 1 … Max,
	// while requests end as overload signals, and rises again afterwards.
	// Default 0: the cap is fixed. Callers with an override keep theirs.
	Min int64
	// Lease is how long a slot is held for a worker that has fallen silent,
	// 1s or more. Default 10s. Running requests renew it.
	Lease time.Duration
	// MaxStreams is how many long-lived requests may be open beside, 1 or
	// more. Default five times Max.
	MaxStreams int64
	// Overrides replace Max for callers, by name.
	Overrides map[string]Override
	// Unlimited admits what the limit matches.
	Unlimited bool
}

// Override is what holds for one caller instead of the limit's own number.
type Override struct {
	Max       int64
	Unlimited bool
}

// rule is a prepared limit.
type rule struct {
	name      string
	slots     caps
	adaptive  *adaptive // nil when the cap is fixed
	matcher   *match.Matcher
	always    bool // the matcher has nothing to add to the route
	classes   priority.Set
	owner     pipeline.Owner
	overrides pipeline.Callers[*caps]
	plain     bool // it holds each caller of its routes to its own, fixed cap: the rule of rules
}

// caps are the prepared limits of a caller; nil limits refuse all.
type caps struct {
	short, stream *store.Limit
	unlimited     bool
}

func (c *Config) table() (*match.Table, error) {
	if c.Table != nil {
		return c.Table, nil
	}
	var paths []string
	for i := range c.Limits {
		if p := c.Limits[i].Match.Path; p != "" {
			paths = append(paths, p)
		}
	}
	return match.NewTable(paths...)
}

// compile prepares a limit; the error names every fault.
func (l *Limit) compile(t *match.Table, state *State) (r rule, err error) {
	var errs []error
	r = rule{name: l.Name, owner: l.Key, classes: priority.SetOf(l.Classes...)}
	if err := store.ValidName(l.Name); err != nil {
		errs = append(errs, err)
	}
	if r.matcher, err = t.Compile(l.Match); err != nil {
		errs = append(errs, err)
	} else {
		r.always = r.matcher.ByRouteAlone()
	}
	if r.slots, err = l.prepare(Override{l.Max, l.Unlimited}); err != nil {
		errs = append(errs, err)
	}
	if l.Min != 0 {
		if l.Min < 1 || l.Min > l.Max {
			errs = append(errs, fmt.Errorf("concurrency: min must be 1 to max (%d), got %d", l.Max, l.Min))
		} else if err == nil && !l.Unlimited {
			r.adaptive = newAdaptive(l, r.slots.short, state.cap(l.Name, l.Max))
		}
	}
	for caller, o := range l.Overrides {
		own, err := l.prepare(o)
		if err != nil {
			errs = append(errs, fmt.Errorf("overrides[%s]: %w", caller, err))
		}
		if err := r.overrides.Set(caller, &own); err != nil {
			errs = append(errs, fmt.Errorf("overrides[%s]: %w", caller, err))
		}
	}
	r.plain = r.always && r.classes == 0 && r.owner.CallerAlone() && len(l.Overrides) == 0 && r.slots.short != nil && r.adaptive == nil
	return r, errors.Join(errs...)
}

func (l *Limit) prepare(o Override) (c caps, err error) {
	if o.Unlimited {
		return caps{unlimited: true}, nil
	}
	if o.Max == 0 {
		return caps{}, nil
	}
	lease := l.Lease
	if lease == 0 {
		lease = DefaultLease
	}
	streams := l.MaxStreams
	if streams == 0 {
		streams = streamsPerSlot * o.Max
	}
	var errs [2]error
	c.short, errs[0] = store.NewSlots(l.Name, o.Max, lease)
	c.stream, errs[1] = store.NewSlots(l.Name+"-streams", streams, lease)
	return c, errors.Join(errs[:]...)
}
