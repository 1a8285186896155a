package process

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Bounds of the file's own numbers.
const (
	mostBurst = 1_000_000_000
	mostSlots = 1_000_000
)

// maxStages is how many stages a file may have, with room for the entries in
// front.
const maxStages = 30

func (a *amendment) limits() {
	names := slices.SortedFunc(maps.Keys(a.effects.Limits), func(a, b control.LimitName) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Limit, b.Limit))
	})
	for _, name := range names {
		e := a.effects.Limits[name]
		i := a.stage(name.Stage)
		if i < 0 {
			a.lacks(&e, fmt.Sprintf("there is no stage %q", name.Stage))
			continue
		}
		s := &a.file.Stages[i]
		switch {
		case s.RateLimit != nil:
			at := slices.IndexFunc(s.RateLimit.Limits, func(l config.RateLimitEntry) bool { return string(l.Name) == name.Limit })
			if at < 0 {
				a.lacks(&e, fmt.Sprintf("stage %q has no limit %q", name.Stage, name.Limit))
				continue
			}
			a.rate(&s.RateLimit.Limits[at], &e)
			a.move(i, at, &e)
		case s.Concurrency != nil:
			at := slices.IndexFunc(s.Concurrency.Limits, func(l config.ConcurrencyEntry) bool { return string(l.Name) == name.Limit })
			if at < 0 {
				a.lacks(&e, fmt.Sprintf("stage %q has no limit %q", name.Stage, name.Limit))
				continue
			}
			a.slots(&s.Concurrency.Limits[at], &e)
			a.move(i, at, &e)
		default:
			a.lacks(&e, fmt.Sprintf("stage %q has no limits", name.Stage))
		}
	}
}

// lacks says of both overrides that may have made an effect why there is none.
func (a *amendment) lacks(e *control.LimitEffect, why string) {
	for _, id := range []string{e.ModeID, e.NumberID} {
		if id != "" {
			a.unmet[id] = why
		}
	}
}

// rate sets the numbers of a rate limit.
func (a *amendment) rate(l *config.RateLimitEntry, e *control.LimitEffect) {
	before := l.Rate
	switch {
	case e.Mode == control.Off:
		*l = config.RateLimitEntry{Name: l.Name, Key: l.Key, Match: l.Match, Cost: l.Cost, Charge: l.Charge, Unlimited: true}
		return
	case e.Set == "":
		return
	case e.Set == control.Max:
		a.unmet[e.NumberID] = "max is for limits of concurrency; this one has a rate"
		return
	case l.Quota.Count > 0 && e.Set == control.Scale:
		l.Quota = scaledQuota(l.Quota, e.Value)
		return
	case before.Count == 0:
		a.unmet[e.NumberID] = "the limit has no rate that could be changed"
		return
	case e.Set == control.Rate:
		l.Rate, _ = limit.ParseRate(e.Rate)
	default:
		l.Rate = scaled(before, e.Value)
	}
	if l.Burst > 0 && l.Rate.Count > 0 {
		l.Burst = bounded(float64(l.Burst)*perSecond(l.Rate)/perSecond(before), mostBurst)
		l.Delay = min(l.Delay, l.Burst)
	}
}

// slots sets the numbers of a limit of concurrency.
func (a *amendment) slots(l *config.ConcurrencyEntry, e *control.LimitEffect) {
	switch {
	case e.Mode == control.Off:
		*l = config.ConcurrencyEntry{Name: l.Name, Key: l.Key, Match: l.Match, Lease: l.Lease, Unlimited: true}
		return
	case e.Set == "":
		return
	case e.Set == control.Rate:
		a.unmet[e.NumberID] = "rate is for limits of rate; this one has a maximum"
		return
	case e.Set == control.Max:
		l.Max = new(int64(e.Value))
	case l.Max == nil:
		a.unmet[e.NumberID] = "the limit has no maximum that could be rescaled"
		return
	default:
		l.Max = new(bounded(float64(*l.Max)*e.Value, mostSlots))
	}
	l.Min = min(l.Min, *l.Max)
}

// move gives a limit whose mode is not that of its stage a stage of its own,
// right behind. What it has counted belongs to its name, and goes with it.
func (a *amendment) move(stage, at int, e *control.LimitEffect) {
	s := &a.file.Stages[stage]
	mode := modeOf(e.Mode)
	if e.Mode == "" || e.Mode == control.Off || mode == s.Mode {
		return
	}
	if s.RateLimit != nil && len(s.RateLimit.Limits) == 1 || s.Concurrency != nil && len(s.Concurrency.Limits) == 1 {
		s.Mode = mode
		return
	}
	if len(a.file.Stages) >= maxStages {
		a.unmet[e.ModeID] = fmt.Sprintf("the plan has %d stages, and room for no more", len(a.file.Stages))
		return
	}
	own := *s
	own.Mode = mode
	if s.RateLimit != nil {
		l := s.RateLimit.Limits[at]
		s.RateLimit.Limits = slices.Delete(slices.Clone(s.RateLimit.Limits), at, at+1)
		own.RateLimit = &config.RateLimitStage{Limits: []config.RateLimitEntry{l}}
		own.Name = ownName(s.Label(), l.Name)
	} else {
		l := s.Concurrency.Limits[at]
		s.Concurrency.Limits = slices.Delete(slices.Clone(s.Concurrency.Limits), at, at+1)
		own.Concurrency = &config.ConcurrencyStage{Limits: []config.ConcurrencyEntry{l}}
		own.Name = ownName(s.Label(), l.Name)
	}
	a.file.Stages = slices.Insert(a.file.Stages, stage+1, own)
}

func ownName(stage string, l config.Name) config.Name {
	return config.Name(stage + "-" + string(l) + "-alone")
}

// callers exempts and rescales callers in every limit that counts callers
// apart.
func (a *amendment) callers() {
	for caller, e := range a.effects.Callers {
		switch {
		case e.DryRun || e.Set == control.Block:
		case !sound(caller):
			a.unmet[e.ID] = unsound
		default:
			for i := range a.file.Stages {
				a.caller(&a.file.Stages[i], config.Caller(caller), &e)
			}
		}
	}
}

func (a *amendment) caller(s *config.Stage, caller config.Caller, e *control.CallerEffect) {
	if s.RateLimit != nil {
		for i := range s.RateLimit.Limits {
			rateCaller(&s.RateLimit.Limits[i], caller, e)
		}
	}
	if s.Concurrency != nil {
		for i := range s.Concurrency.Limits {
			slotsCaller(&s.Concurrency.Limits[i], caller, e)
		}
	}
}

func rateCaller(l *config.RateLimitEntry, caller config.Caller, e *control.CallerEffect) {
	if !byCaller(l.Key) {
		return
	}
	at := slices.IndexFunc(l.Overrides, func(o config.RateOverride) bool { return o.Caller == caller })
	o := config.RateOverride{Caller: caller, Rate: l.Rate, Quota: l.Quota, Burst: l.Burst}
	if at >= 0 {
		o = l.Overrides[at]
		if o.Rate.Count == 0 && o.Quota == (config.Quota{}) {
			o.Rate, o.Quota = l.Rate, l.Quota
		}
	}
	switch {
	case e.Set == control.Exempt:
		o = config.RateOverride{Caller: caller, Unlimited: true}
	case l.Unlimited || o.Unlimited || o.Rate.Count == 0 && o.Quota.Count == 0:
		return
	case o.Quota.Count > 0:
		o.Quota = scaledQuota(o.Quota, e.Value)
	default:
		o.Rate = scaled(o.Rate, e.Value)
		if o.Burst > 0 {
			o.Burst = bounded(float64(o.Burst)*e.Value, mostBurst)
		}
	}
	l.Overrides = replaced(l.Overrides, at, o)
}

func slotsCaller(l *config.ConcurrencyEntry, caller config.Caller, e *control.CallerEffect) {
	if !byCaller(l.Key) {
		return
	}
	at := slices.IndexFunc(l.Overrides, func(o config.ConcurrencyOverride) bool { return o.Caller == caller })
	o := config.ConcurrencyOverride{Caller: caller, Max: l.Max}
	if at >= 0 {
		o = l.Overrides[at]
	}
	switch {
	case e.Set == control.Exempt:
		o = config.ConcurrencyOverride{Caller: caller, Unlimited: true}
	case l.Unlimited || o.Unlimited || o.Max == nil:
		return
	default:
		o.Max = new(bounded(float64(*o.Max)*e.Value, mostSlots))
	}
	l.Overrides = replaced(l.Overrides, at, o)
}

// replaced is a list with one element set, or one more where at is -1.
func replaced[T any](list []T, at int, value T) []T {
	list = slices.Clone(list)
	if at < 0 {
		return append(list, value)
	}
	list[at] = value
	return list
}

// byCaller reports whether a limit counts each caller apart.
func byCaller(o pipeline.Owner) bool {
	return slices.ContainsFunc(o, func(p pipeline.OwnerPart) bool { return p.Kind == pipeline.ByCaller })
}

// scaled is a rate times a factor, one token in its period at least.
func scaled(r limit.Rate, by float64) limit.Rate {
	return limit.Rate{Count: bounded(float64(r.Count)*by, 1<<50), Period: r.Period}
}

func scaledQuota(q config.Quota, by float64) config.Quota {
	return config.Quota{Count: bounded(float64(q.Count)*by, 1<<50), Unit: q.Unit}
}

func perSecond(r limit.Rate) float64 { return float64(r.Count) / r.Period.Seconds() }

// bounded is a number rounded, from 1 to most.
func bounded(v float64, most int64) int64 { return int64(min(max(math.Round(v), 1), float64(most))) }
