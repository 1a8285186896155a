package process

import (
	"fmt"
	"maps"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

// Control is what people change while the process runs.
func (p *Process) Control() *control.Control { return p.control }

// override makes effects hold: it is what the control applies.
func (p *Process) override(e control.Effects) (unmet map[string]string, err error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	unmet, err = p.rebuild(p.file, &e)
	if err == nil {
		p.effects = e
		p.noteOverrides()
	}
	return unmet, err
}

// rebuild makes a file and effects the ones that run, on the state that there
// is. What can fail comes first, and leaves the last ones running.
func (p *Process) rebuild(file *config.File, e *control.Effects) (unmet map[string]string, err error) {
	built, unmet, err := p.build(file, e)
	if err != nil {
		return nil, err
	}
	if err := p.middleware.Swap(p.noting(built.Middleware)); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if err := p.pipeline.Swap(built.Plan); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	p.adopt(built)
	p.pin(e, unmet)
	return unmet, nil
}

// build makes a plan of a file and effects. When they do not go together, what
// changes numbers is left out, so that what sheds and blocks holds in any case.
func (p *Process) build(file *config.File, e *control.Effects) (*config.Built, map[string]string, error) {
	live := p.built.Load().Live
	a := amend(file, e)
	built, err := config.BuildAmended(a.file, live, config.Amendment{Routes: a.routes, First: a.first})
	if err == nil || a.file == file {
		return built, a.unmet, err
	}
	fewer := *e
	fewer.Limits, fewer.Reserve, fewer.Capacity = nil, control.Number{}, control.Number{}
	fewer.Callers = maps.Clone(e.Callers)
	maps.DeleteFunc(fewer.Callers, func(_ string, c control.CallerEffect) bool { return c.Set != control.Block })
	b := amend(file, &fewer)
	why := fmt.Sprintf("the plan could not be made with it and others: %v", err)
	for id := range numbers(e) {
		b.unmet[id] = why
	}
	built, err = config.BuildAmended(b.file, live, config.Amendment{Routes: b.routes, First: b.first})
	return built, b.unmet, err
}

// numbers are the overrides that change numbers of the file.
func numbers(e *control.Effects) map[string]bool {
	ids := map[string]bool{e.Reserve.ID: true, e.Capacity.ID: true}
	for _, l := range e.Limits {
		ids[l.ModeID], ids[l.NumberID] = true, true
	}
	for _, c := range e.Callers {
		if c.Set != control.Block {
			ids[c.ID] = true
		}
	}
	delete(ids, "")
	return ids
}

// pin holds the levels of workers' stages, and lets go of those that nothing
// holds any more: they sink at the pace of their stage, and stop by themselves
// when utilization rises.
func (p *Process) pin(e *control.Effects, unmet map[string]string) {
	stages := stagesOf[*workershed.Stage](p)
	for name, s := range stages {
		n, held := e.Pins[name]
		if !held {
			n = e.DefaultPin
		}
		switch {
		case n.Set():
			s.State().Pin(n.Value)
			p.pinned[name] = true
		case p.pinned[name]:
			s.State().Unpin()
			delete(p.pinned, name)
		}
	}
	for name, n := range e.Pins {
		if stages[name] == nil {
			unmet[n.ID] = fmt.Sprintf("there is no stage %q of kind workershed", name)
		}
	}
	if e.DefaultPin.Set() && len(stages) == 0 {
		unmet[e.DefaultPin.ID] = "there is no stage of kind workershed"
	}
}
