package process

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Insight is what the process remembers of the last minutes.
func (p *Process) Insight() *insight.Recorder { return p.insight }

// foresee says what an override would have done here.
func (p *Process) foresee(o *control.Override, window time.Duration) (past control.Past, unmet string) {
	p.changing.Lock()
	file := p.file
	p.changing.Unlock()
	trial := *o
	trial.ID, trial.DryRun = "preview", false
	e := control.Compile([]control.Override{trial}, o.Scope.Worker)
	a := amend(file, &e)
	unmet = a.unmet[trial.ID]
	if own := p.built.Load().Live.Member().Worker(); o.Scope.Worker != "" && o.Scope.Worker != own {
		return control.Past{Note: fmt.Sprintf("it is for worker %s; this one is %s", o.Scope.Worker, own)}, "it is for another worker"
	}
	q, note := question(file, o)
	if note == "" {
		return control.Past{Note: "what this changes cannot be told from the past"}, unmet
	}
	q.Window = window
	return control.Past{Answer: p.insight.Ask(q), Known: true, Note: note}, unmet
}

// question is what an override asks of the past, and how that is reckoned; ""
// when it cannot be.
func question(file *config.File, o *control.Override) (q insight.Question, note string) {
	switch o.What {
	case control.Shed:
		below, _ := priority.Parse(o.Scope.Below)
		q.Refuses = insight.Sheds(below, float64(o.Percent)/100, onRoute(file, o.Scope.Route))
		return q, "from sampled requests, by class, cohort and route"
	case control.Pin:
		q.Refuses = insight.Level(o.Value)
		return q, "from sampled requests, by class and cohort; what the level refuses already is among the refused"
	case control.Bypass:
		q.Admits = func(*insight.Sample) bool { return true }
		return q, "every sampled refusal would have been admitted"
	case control.StageMode:
		if o.Set == control.Enforce {
			return q, ""
		}
		q.Admits = func(s *insight.Sample) bool { return s.Entry == o.Scope.Stage }
		return q, "sampled refusals by the stage; what stands behind it may refuse some of them"
	case control.Caller:
		return callerQuestion(file, o)
	case control.Limit:
		return limitQuestion(file, o)
	case control.Reserve:
		return reserveQuestion(file, o)
	}
	return q, ""
}

func reserveQuestion(file *config.File, o *control.Override) (q insight.Question, note string) {
	r := insight.ReserveQuestion{}
	for i := range file.Stages {
		if s := file.Stages[i].FleetShed; s != nil {
			r = insight.ReserveQuestion{Share: s.Reserve, Capacity: float64(s.Capacity)}
		}
	}
	if o.Set == control.Capacity {
		r.Capacity = o.Value
	} else {
		r.Share = o.Value
	}
	q.Reserve = &r
	return q, "from the fleet's capacity and demand at each heartbeat, least critical first"
}

// onRoute reports whether a route is covered by a pattern; nil for every route.
func onRoute(file *config.File, pattern string) func(string) bool {
	if pattern == "" {
		return nil
	}
	table, err := match.NewTable(append(file.Routes(), pattern)...)
	if err != nil {
		return func(string) bool { return false }
	}
	m, err := table.Compile(match.Rule{Path: pattern})
	if err != nil {
		return func(string) bool { return false }
	}
	covered := map[string]bool{}
	for id := range table.Len() {
		covered[table.Name(id)] = m.CoversRoute(id)
	}
	return func(route string) bool { return covered[route] }
}

func isCaller(named string) func(*insight.Sample) bool {
	if key, is := strings.CutPrefix(named, "id:"); is {
		return func(s *insight.Sample) bool { return s.Caller.ID.String() == key }
	}
	return func(s *insight.Sample) bool { return s.Caller.Name == named && !s.Caller.Secret }
}

func callerQuestion(file *config.File, o *control.Override) (q insight.Question, note string) {
	is := isCaller(o.Scope.Caller)
	switch {
	case o.Set == control.Block:
		q.Refuses = is
		return q, "all sampled requests of the caller"
	case o.Set == control.Exempt || o.Value >= 1:
		q.Admits = func(s *insight.Sample) bool { return is(s) && perCaller(file, s.Entry, s.Rule) }
		return q, "sampled refusals of the caller by limits that count callers apart; at most"
	}
	for i := range file.Stages {
		s := file.Stages[i].RateLimit
		for j := range ratesOf(s) {
			l := &s.Limits[j]
			if byCaller(l.Key) && l.Rate.Count > 0 {
				q.Rate = rateQuestion(l, o.Value, is)
				return q, fmt.Sprintf("the limit %s at the new scale, over sampled requests of the caller", l.Name)
			}
		}
	}
	return q, ""
}

func ratesOf(s *config.RateLimitStage) []config.RateLimitEntry {
	if s == nil {
		return nil
	}
	return s.Limits
}

// perCaller reports whether a limit counts callers apart.
func perCaller(file *config.File, stage, name string) bool {
	for i := range file.Stages {
		s := &file.Stages[i]
		if s.Label() != stage {
			continue
		}
		if slices.ContainsFunc(ratesOf(s.RateLimit), func(l config.RateLimitEntry) bool { return string(l.Name) == name && byCaller(l.Key) }) {
			return true
		}
		if s.Concurrency != nil {
			return slices.ContainsFunc(s.Concurrency.Limits, func(l config.ConcurrencyEntry) bool { return string(l.Name) == name && byCaller(l.Key) })
		}
	}
	return false
}

func limitQuestion(file *config.File, o *control.Override) (q insight.Question, note string) {
	if o.Set == control.Off || o.Set == control.Shadow || o.Set == control.Scale && o.Value >= 1 {
		q.Admits = func(s *insight.Sample) bool { return s.Entry == o.Scope.Stage && s.Rule == o.Scope.Limit }
		return q, "sampled refusals by the limit; at most"
	}
	for i := range file.Stages {
		s := &file.Stages[i]
		if s.Label() != o.Scope.Stage {
			continue
		}
		for j := range ratesOf(s.RateLimit) {
			l := s.RateLimit.Limits[j]
			if string(l.Name) != o.Scope.Limit || l.Rate.Count == 0 || o.Set != control.Scale && o.Set != control.Rate {
				continue
			}
			(&amendment{unmet: map[string]string{}}).rate(&l, &control.LimitEffect{Set: o.Set, Value: o.Value, Rate: o.Rate})
			q.Rate = rateQuestion(&l, 1, nil)
			return q, "the limit at its new rate over sampled requests; its match is not looked at but for the path"
		}
	}
	return q, ""
}

// rateQuestion is a limit at a scale. Who is counted together is told by the
// caller alone, which is right for most limits.
func rateQuestion(l *config.RateLimitEntry, scale float64, concerns func(*insight.Sample) bool) *insight.RateQuestion {
	burst := float64(l.Burst)
	if burst == 0 {
		burst = float64(l.Rate.Count)
	}
	q := &insight.RateQuestion{PerSecond: perSecond(l.Rate) * scale, Burst: burst * scale, Concerns: concerns}
	if byCaller(l.Key) || slices.ContainsFunc(l.Key, func(p pipeline.OwnerPart) bool { return p.Kind == pipeline.ByAddress }) {
		q.Key = func(s *insight.Sample) string { return s.Caller.ID.String() }
	}
	return q
}
