package config

import (
	"errors"
	"fmt"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

// Built is what a file makes: a plan and settings that nothing runs by yet.
type Built struct {
	File *File
	Plan *pipeline.Plan
	// Middleware describes requests and answers refusals as the file says.
	Middleware httpmw.Config
	// Live is the state that the plan works on. Hand it to the next Build.
	Live *Live
	// Restart lists the keys whose values are not those that the process
	// started with, and count only after its next start.
	Restart []string

	terms       fleet.Terms
	fleet       *fleetshed.State
	worker      *workershed.State
	maxInFlight int
}

// Build makes a plan of a file, on the state of previous, which is nil at the
// start of a process. It may fail, and changes nothing that runs: swap the plan
// and the settings in, then call Adopt, neither of which can fail. The file
// must not be changed afterwards.
func Build(f *File, previous *Live) (*Built, error) {
	return BuildAmended(f, previous, Amendment{})
}

// BuildAmended is Build with something beside the file.
func BuildAmended(f *File, previous *Live, a Amendment) (*Built, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	live := previous
	if live == nil {
		fresh, err := newLive(f)
		if err != nil {
			return nil, fmt.Errorf("config: build: %w", err)
		}
		live = fresh
	}
	b := &Built{File: f, Live: live.with(), Restart: restart(live.began, f)}
	table, err := f.amended(&a)
	if err != nil {
		return nil, fmt.Errorf("config: build: %w", err)
	}
	if b.Middleware, err = f.middleware(table); err != nil {
		return nil, fmt.Errorf("config: build: %w", err)
	}
	if b.Plan, err = b.plan(table, &a); err != nil {
		return nil, fmt.Errorf("config: build: %w", err)
	}
	return b, nil
}

// Adopt tells the live parts beside the plan that it is the one that runs now:
// the fleet hears of the new terms, and of the stages that count.
func (b *Built) Adopt() {
	u := &b.Live.usage
	u.limit.Store(int64(b.maxInFlight))
	u.worker.Store(b.worker)
	u.fleet.Store(b.fleet)
	_ = b.Live.member.SetTerms(b.terms) // Validate has seen to their range
}

// plan makes the entries, each on the live state of its name.
func (b *Built) plan(table *match.Table, a *Amendment) (*pipeline.Plan, error) {
	entries, err := a.first(table)
	errs := []error{err}
	for i := range b.File.Stages {
		s := &b.File.Stages[i]
		stage, err := b.stage(s, table)
		if err != nil {
			errs = append(errs, fmt.Errorf("stages[%d]: %w", i, err))
			continue
		}
		entries = append(entries, pipeline.Entry{
			Name: s.Label(), Kind: string(s.Kind), Mode: s.Mode, OnFault: s.OnFault, Stage: stage,
		})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return pipeline.NewPlan(entries...)
}
