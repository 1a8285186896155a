package process

import (
	"time"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// snapshots is what the worker's stages of the plan do now, by name.
func (p *Process) snapshots() map[string]workershed.Snapshot {
	list := map[string]workershed.Snapshot{}
	for name, s := range stagesOf[*workershed.Stage](p) {
		list[name] = s.State().Snapshot()
	}
	return list
}

// workerSources is what the worker's stages of the plan tell of themselves.
func (p *Process) workerSources() []telemetry.Source {
	of := func(m telemetry.Metric, read func(*workershed.Snapshot) float64) telemetry.Source {
		return telemetry.Source{Metric: m, Read: func() (points []telemetry.Point) {
			for name, s := range p.snapshots() {
				points = append(points, point(read(&s), name))
			}
			return points
		}}
	}
	return append([]telemetry.Source{
		of(telemetry.WorkerLimit, func(s *workershed.Snapshot) float64 { return float64(s.Limit) }),
		of(telemetry.WorkerLimitMax, func(s *workershed.Snapshot) float64 { return float64(s.MaxInFlight) }),
		of(telemetry.WorkerHung, func(s *workershed.Snapshot) float64 { return float64(s.Hung) }),
		of(telemetry.WorkerStreams, func(s *workershed.Snapshot) float64 { return float64(s.Streams) }),
		of(telemetry.WorkerLevel, func(s *workershed.Snapshot) float64 { return s.Level }),
		of(telemetry.WorkerStrain, func(s *workershed.Snapshot) float64 { return s.Strain }),
		of(telemetry.WorkerPinned, func(s *workershed.Snapshot) float64 { return truth(s.Pinned) }),
		of(telemetry.WorkerUtilization, func(s *workershed.Snapshot) float64 { return s.Utilization }),
		of(telemetry.WorkerDemand, func(s *workershed.Snapshot) float64 { return s.Demand }),
		of(telemetry.WorkerRunQueue, func(s *workershed.Snapshot) float64 { return s.RunQueue.Seconds() }),
		of(telemetry.WorkerRunnable, func(s *workershed.Snapshot) float64 { return float64(s.Runnable) }),
		of(telemetry.WorkerService, func(s *workershed.Snapshot) float64 { return s.Service.Seconds() }),
	}, p.workerClassSources()...)
}

func (p *Process) workerClassSources() []telemetry.Source {
	of := func(m telemetry.Metric, read func(name string, s *workershed.Snapshot) []telemetry.Point) telemetry.Source {
		return telemetry.Source{Metric: m, Read: func() (points []telemetry.Point) {
			for name, s := range p.snapshots() {
				points = append(points, read(name, &s)...)
			}
			return points
		}}
	}
	return []telemetry.Source{
		of(telemetry.WorkerCap, func(name string, s *workershed.Snapshot) []telemetry.Point { return byClass(s.Caps, name) }),
		of(telemetry.WorkerInFlight, func(name string, s *workershed.Snapshot) []telemetry.Point { return byClass(s.InFlight, name) }),
		of(telemetry.WorkerQueued, func(name string, s *workershed.Snapshot) []telemetry.Point { return byClass(s.Queued, name) }),
		of(telemetry.WorkerAsking, func(name string, s *workershed.Snapshot) []telemetry.Point { return byClass(s.Asking, name) }),
		of(telemetry.WorkerShed, func(name string, s *workershed.Snapshot) []telemetry.Point { return byClass(s.Shed, name) }),
		of(telemetry.WorkerRefused, func(name string, s *workershed.Snapshot) (points []telemetry.Point) {
			for _, class := range priority.All {
				points = append(points,
					point(s.RefusedByLevel[class.Index()], name, class.String(), "level"),
					point(s.RefusedNoRoom[class.Index()], name, class.String(), "room"),
					point(s.TimedOut[class.Index()], name, class.String(), "timeout"))
			}
			return points
		}),
	}
}

// fleetSources is what the fleet told this worker last.
func (p *Process) fleetSources() []telemetry.Source {
	lease := func() fleet.Lease { return p.built.Load().Live.Member().Lease() }
	return []telemetry.Source{
		{Metric: telemetry.FleetWorkers, Read: func() []telemetry.Point {
			l := lease()
			return []telemetry.Point{point(l.Live, "live"), point(l.Stale, "stale"), point(l.Drained, "drained")}
		}},
		one(telemetry.FleetCapacity, func() float64 { return lease().Capacity }),
		{Metric: telemetry.FleetUsage, Read: func() []telemetry.Point { return byClass(lease().InFlight) }},
		{Metric: telemetry.FleetDemand, Read: func() []telemetry.Point { return byClass(lease().Demanded) }},
		one(telemetry.FleetLease, func() float64 { return lease().View.Lease }),
		one(telemetry.FleetLeaseRemaining, func() float64 { return p.leaseRemaining(lease()) }),
		one(telemetry.FleetBeatsMissed, func() float64 { return float64(lease().Missed) }),
		one(telemetry.FleetLowTrust, func() float64 { return truth(lease().LowTrust) }),
		one(telemetry.FleetLearning, func() float64 { return truth(lease().Learning) }),
		one(telemetry.FleetGeneration, func() float64 { return float64(lease().Generation) }),
	}
}

// leaseRemaining is in seconds; 0 before the fleet was heard for the first time.
func (p *Process) leaseRemaining(l fleet.Lease) float64 {
	if l.Heard == 0 {
		return 0
	}
	return time.Duration(l.Until - p.pipeline.Now()).Seconds()
}

// byClass is one figure for each class, behind the labels that all have.
func byClass[N int | float64, P ~[priority.Count]N](figures P, labels ...string) (points []telemetry.Point) {
	for _, class := range priority.All {
		points = append(points, point(figures[class.Index()], append(labels[:len(labels):len(labels)], class.String())...))
	}
	return points
}
