package process

import (
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// overrideSources is what people changed for a while.
func (p *Process) overrideSources() []telemetry.Source {
	return []telemetry.Source{
		{Metric: telemetry.Overrides, Read: func() []telemetry.Point { s := p.control.State(); return countOverrides(&s) }},
		{Metric: telemetry.OverridesRemaining, Read: func() []telemetry.Point { s := p.control.State(); return overridesEnd(&s) }},
		one(telemetry.OverridesUnmet, func() float64 { return float64(len(p.control.State().Unmet)) }),
		one(telemetry.ControlOK, func() float64 { s := p.control.State(); return truth(s.Error == "" && s.Fault == "") }),
	}
}

// countOverrides has a figure for each kind and state, so that one that ends
// falls to 0.
func countOverrides(s *control.State) (points []telemetry.Point) {
	var inForce, dryRuns, pending = map[control.Kind]int{}, map[control.Kind]int{}, map[control.Kind]int{}
	for i := range s.Active {
		if s.Active[i].DryRun {
			dryRuns[s.Active[i].What]++
		} else {
			inForce[s.Active[i].What]++
		}
	}
	for _, list := range [][]control.Override{s.Document.Overrides, s.Local.Overrides} {
		for i := range list {
			if list[i].Pending && s.Now.Before(list[i].ExpiresAt) {
				pending[list[i].What]++
			}
		}
	}
	for _, kind := range control.Kinds {
		points = append(points, point(inForce[kind], string(kind), "in-force"), point(dryRuns[kind], string(kind), "dry-run"), point(pending[kind], string(kind), "pending"))
	}
	return points
}

func overridesEnd(s *control.State) (points []telemetry.Point) {
	first := map[control.Kind]time.Duration{}
	for i := range s.Active {
		o := &s.Active[i]
		left := max(o.ExpiresAt.Sub(s.Now), 0)
		if before, there := first[o.What]; !o.DryRun && (!there || left < before) {
			first[o.What] = left
		}
	}
	for kind, left := range first {
		points = append(points, point(left.Seconds(), string(kind)))
	}
	return points
}
