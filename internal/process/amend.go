package process

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/overrides"
	"github.com/plimsoll-go/plimsoll/store"
)

// The entries that overrides put in front of those of the file. No name of a
// file has a dot, so they never meet.
const (
	overridesEntry = "operator.overrides"
	trialEntry     = "operator.dry-run"
)

// amendment is a file as overrides change it.
type amendment struct {
	file    *config.File // a copy
	effects *control.Effects
	unmet   map[string]string // overrides that have no effect here, by id, and why
	routes  []string
}

// amend makes what overrides say of a file. The file stays as it is.
func amend(file *config.File, e *control.Effects) *amendment {
	a := &amendment{file: file, effects: e, unmet: map[string]string{}}
	if len(e.Modes)+len(e.Limits)+len(e.Sheds)+len(e.Callers) == 0 &&
		e.Bypass == "" && !e.Reserve.Set() && !e.Capacity.Set() {
		return a
	}
	a.file = copied(file)
	if e.Bypass != "" {
		for i := range a.file.Stages {
			a.file.Stages[i].Mode = pipeline.Off
		}
		return a
	}
	a.fit()
	a.modes()
	a.fleet()
	a.callers()
	a.limits()
	return a
}

// copied is a file whose stages and limits can be changed.
func copied(f *config.File) *config.File {
	c := *f
	c.Stages = slices.Clone(f.Stages)
	for i := range c.Stages {
		s := &c.Stages[i]
		if s.RateLimit != nil {
			s.RateLimit = &config.RateLimitStage{Limits: slices.Clone(s.RateLimit.Limits)}
		}
		if s.Concurrency != nil {
			s.Concurrency = &config.ConcurrencyStage{Limits: slices.Clone(s.Concurrency.Limits)}
		}
		if s.FleetShed != nil {
			s.FleetShed = new(*s.FleetShed)
		}
	}
	return &c
}

// fit finds out which routes of sheds the table can hold.
func (a *amendment) fit() {
	var wanted []string
	for _, s := range a.effects.Sheds {
		if s.Route != "" && !slices.Contains(wanted, s.Route) {
			wanted = append(wanted, s.Route)
		}
	}
	var unfit map[string]string
	a.routes, unfit = a.file.FitRoutes(wanted)
	for _, s := range a.effects.Sheds {
		if why, is := unfit[s.Route]; is {
			a.unmet[s.ID] = fmt.Sprintf("the route %q %s", s.Route, why)
		}
	}
}

func (a *amendment) modes() {
	for name, m := range a.effects.Modes {
		i := a.stage(name)
		if i < 0 {
			a.unmet[m.ID] = fmt.Sprintf("there is no stage %q", name)
			continue
		}
		a.file.Stages[i].Mode = modeOf(m.Mode)
	}
}

func (a *amendment) stage(name string) int {
	return slices.IndexFunc(a.file.Stages, func(s config.Stage) bool { return s.Label() == name })
}

// modeOf is the mode that a word of control names; they are checked there.
func modeOf(s control.Setting) pipeline.Mode {
	m, _ := pipeline.ParseMode(string(s))
	return m
}

func (a *amendment) fleet() {
	found := false
	for i := range a.file.Stages {
		s := a.file.Stages[i].FleetShed
		if s == nil {
			continue
		}
		found = true
		if a.effects.Reserve.Set() {
			s.Reserve = a.effects.Reserve.Value
		}
		if a.effects.Capacity.Set() {
			s.Capacity = config.Capacity(a.effects.Capacity.Value)
		}
	}
	for _, n := range []control.Number{a.effects.Reserve, a.effects.Capacity} {
		if n.Set() && !found {
			a.unmet[n.ID] = "there is no stage of kind fleetshed"
		}
	}
}

// first makes the entries in front.
func (a *amendment) first(table *match.Table) (entries []pipeline.Entry, err error) {
	if a.effects.Bypass != "" {
		return nil, nil
	}
	done, trial := overrides.Config{Table: table}, overrides.Config{Table: table}
	for _, s := range a.effects.Sheds {
		if _, unmet := a.unmet[s.ID]; unmet {
			continue
		}
		below, _ := priority.Parse(s.Below)
		c := pick(s.DryRun, &trial, &done)
		c.Sheds = append(c.Sheds, overrides.Shed{Rule: s.ID, Route: s.Route, Below: below, Percent: s.Percent})
	}
	for caller, f := range a.effects.Callers {
		c := pick(f.DryRun, &trial, &done)
		switch {
		case !sound(caller):
			a.unmet[f.ID] = unsound
		case f.Set == control.Block:
			c.Blocks = append(c.Blocks, overrides.Block{Rule: f.ID, Caller: caller})
		case f.Set == control.Exempt:
			c.Exempt = append(c.Exempt, caller)
		}
	}
	for _, made := range []struct {
		name   string
		mode   pipeline.Mode
		config *overrides.Config
	}{{overridesEntry, pipeline.Enforce, &done}, {trialEntry, pipeline.Shadow, &trial}} {
		if len(made.config.Sheds)+len(made.config.Blocks) == 0 {
			continue
		}
		stage, err := overrides.New(*made.config)
		if err != nil {
			return nil, err
		}
		entries = append(entries, pipeline.Entry{Name: made.name, Kind: "overrides", Mode: made.mode, OnFault: pipeline.Open, Stage: stage})
	}
	return entries, nil
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

const unsound = "id: must be followed by the 22 characters of a caller's key"

// sound reports whether a caller is named in a way that can be understood.
func sound(caller string) bool {
	text, isKey := strings.CutPrefix(caller, "id:")
	if !isKey {
		return true
	}
	_, err := store.ParseKey(text)
	return err == nil
}
