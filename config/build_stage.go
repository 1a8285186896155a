package config

import (
	"fmt"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

// stage makes the stage of an entry, on the state of its name.
func (b *Built) stage(s *Stage, table *match.Table) (pipeline.Stage, error) {
	switch {
	case s.RateLimit != nil:
		return ratelimit.New(s.RateLimit.config(table), b.Live.memory)
	case s.Concurrency != nil:
		return concurrency.New(s.Concurrency.config(table), stateOf(b.Live.concurrency, s.Label(), concurrency.NewState))
	case s.FleetShed != nil:
		b.fleet = stateOf(b.Live.fleetshed, s.Label(), func() *fleetshed.State { return new(fleetshed.State) })
		b.terms = fleet.Terms{Reserve: s.FleetShed.Reserve, Declared: float64(s.FleetShed.Capacity)}
		return fleetshed.New(s.FleetShed.config(b.Live), b.fleet)
	case s.WorkerShed != nil:
		b.worker = stateOf(b.Live.workershed, s.Label(), workershed.NewState)
		b.maxInFlight = s.WorkerShed.MaxInFlight
		c, err := s.WorkerShed.config(table)
		if err != nil {
			return nil, err
		}
		return workershed.New(c, b.worker)
	}
	return nil, fmt.Errorf("a stage of kind %q has no settings", s.Kind)
}

func (s *RateLimitStage) config(table *match.Table) ratelimit.Config {
	c := ratelimit.Config{Table: table}
	for i := range s.Limits {
		c.Limits = append(c.Limits, s.Limits[i].config())
	}
	return c
}

func (l *RateLimitEntry) config() ratelimit.Limit {
	return ratelimit.Limit{
		Name: string(l.Name), Match: l.Match.rule(), Classes: l.Match.Classes, Key: l.Key,
		Rate: l.rate(), Burst: l.Burst, Algorithm: l.Algorithm, Cost: l.Cost.config(),
		Delay: l.Delay, NoDelay: l.NoDelay, Calendar: l.calendar(),
		Overrides: l.overrides(), Unlimited: l.Unlimited, Charge: l.Charge.config(),
	}
}

func (l *RateLimitEntry) overrides() map[string]ratelimit.Override {
	m := make(map[string]ratelimit.Override, len(l.Overrides))
	for _, o := range l.Overrides {
		rate, burst := o.numbers(l)
		m[string(o.Caller)] = ratelimit.Override{Rate: rate, Burst: burst, Unlimited: o.Unlimited}
	}
	return m
}

func (c *Cost) config() ratelimit.Cost {
	return ratelimit.Cost{Tokens: c.Tokens, ByRoute: c.byRoute(), AfterServing: c.Header != ""}
}

func (c *Cost) byRoute() map[string]int64 {
	m := make(map[string]int64, len(c.Routes))
	for route, tokens := range c.Routes {
		m[string(route)] = tokens
	}
	return m
}

func (c Charge) config() ratelimit.Charge {
	if c == ChargeAttempts {
		return ratelimit.Attempts
	}
	return ratelimit.Admitted
}

func (s *ConcurrencyStage) config(table *match.Table) concurrency.Config {
	c := concurrency.Config{Table: table}
	for i := range s.Limits {
		c.Limits = append(c.Limits, s.Limits[i].config())
	}
	return c
}

func (l *ConcurrencyEntry) config() concurrency.Limit {
	return concurrency.Limit{
		Name: string(l.Name), Match: l.Match.rule(), Classes: l.Match.Classes, Key: l.Key,
		Max: orZero(l.Max), Min: l.Min, Lease: l.Lease, MaxStreams: l.MaxStreams,
		Overrides: l.overrides(), Unlimited: l.Unlimited,
	}
}

func (l *ConcurrencyEntry) overrides() map[string]concurrency.Override {
	m := make(map[string]concurrency.Override, len(l.Overrides))
	for _, o := range l.Overrides {
		m[string(o.Caller)] = concurrency.Override{Max: orZero(o.Max), Unlimited: o.Unlimited}
	}
	return m
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func (s *FleetShedStage) config(live *Live) fleetshed.Config {
	c := fleetshed.Config{
		Reserve: s.Reserve, Declared: float64(s.Capacity), Capacity: live.usage.capacity, Lease: live.member,
		MaxStreams: s.MaxStreams, ClassCaps: byClass(s.ClassCaps.Low, s.ClassCaps.Normal, s.ClassCaps.High),
	}
	if c.Reserve == 0 {
		c.Reserve = fleetshed.NoReserve
	}
	return c
}

func (s *WorkerShedStage) config(table *match.Table) (workershed.Config, error) {
	c := workershed.Config{
		MaxInFlight: s.MaxInFlight, ClassShare: byClass(s.Shares.Low, s.Shares.Normal, s.Shares.High),
		MaxWait: s.MaxWait, QueuePerClass: s.QueuePerClass,
		Adaptive: workershed.Adaptive(s.Adaptive), Ramp: workershed.Ramp(s.Ramp), RampUp: s.RampUp, RampDown: s.RampDown,
		MaxStreams: s.MaxStreams, ExemptMax: s.ExemptMax,
	}
	if s.MaxWait == 0 {
		c.QueuePerClass = workershed.NoQueue
	}
	var err error
	c.Exempt, err = exemptPaths(s.Exempt, table)
	return c, err
}

// byClass is the shares by Class.Index; critical has all.
func byClass(low, normal, high float64) [priority.Count]float64 {
	return [priority.Count]float64{low, normal, high, 1}
}

// exemptPaths is the question whether a request is to one of some paths, or
// nil when there are none. It is asked twice for each request, so it is one
// look into a list by route.
func exemptPaths(patterns []Pattern, table *match.Table) (func(*pipeline.Request) bool, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	exempt := make([]bool, table.Len())
	for _, pattern := range patterns {
		m, err := table.Compile(match.Rule{Path: string(pattern)})
		if err != nil {
			return nil, err
		}
		for route := range exempt {
			exempt[route] = exempt[route] || m.CoversRoute(route)
		}
	}
	return func(r *pipeline.Request) bool { return exempt[table.Resolve(&r.Subject)] }, nil
}
