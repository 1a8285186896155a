package process

import (
	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// gauges is what the process tells at a scrape, beside what is counted.
func (p *Process) gauges() []telemetry.Gauge {
	return append(p.ownGauges(), p.stageGauges()...)
}

func (p *Process) ownGauges() []telemetry.Gauge {
	return []telemetry.Gauge{
		one(telemetry.Serving, func() float64 { return truth(p.ready()) }),
		one(telemetry.ConfigGeneration, func() float64 { return float64(p.configuration().Generation) }),
		one(telemetry.ConfigOK, func() float64 { return truth(p.configuration().Error == "") }),
		one(telemetry.BuildInfo, func() float64 { return 1 }, p.config.Version),
		one(telemetry.StoreState, func() float64 { return float64(p.guardState()) }, string(p.began.Store.Driver)),
		one(telemetry.StoreKeys, func() float64 { return float64(p.table().Keys) }),
		one(telemetry.StoreKeysLimit, func() float64 { return float64(p.table().MaxKeys) }),
		one(telemetry.FleetWorkers, func() float64 { return float64(p.built.Load().Live.Member().Lease().Live) }),
	}
}

func (p *Process) guardState() store.State { return p.built.Load().Live.Guard().State() }

func (p *Process) table() admin.Store { return p.store(p.built.Load().Live) }

// stageGauges is what the stages of the plan tell of themselves.
func (p *Process) stageGauges() []telemetry.Gauge {
	worker := func(m telemetry.Metric, read func(*workershed.Snapshot) float64) telemetry.Gauge {
		return telemetry.Gauge{Metric: m, Read: func() []telemetry.Point { return p.workers(read) }}
	}
	workerClass := func(m telemetry.Metric, read func(*workershed.Snapshot, int) float64) telemetry.Gauge {
		return telemetry.Gauge{Metric: m, Read: func() []telemetry.Point { return p.workersByClass(read) }}
	}
	fleet := func(m telemetry.Metric, read func(*fleetshed.Stage) float64) telemetry.Gauge {
		return telemetry.Gauge{Metric: m, Read: func() []telemetry.Point { return p.fleets(read) }}
	}
	return []telemetry.Gauge{
		worker(telemetry.WorkerLimit, func(s *workershed.Snapshot) float64 { return float64(s.Limit) }),
		worker(telemetry.WorkerStreams, func(s *workershed.Snapshot) float64 { return float64(s.Streams) }),
		worker(telemetry.WorkerUtilization, func(s *workershed.Snapshot) float64 { return s.Utilization }),
		worker(telemetry.WorkerRunQueue, func(s *workershed.Snapshot) float64 { return s.RunQueue.Seconds() }),
		workerClass(telemetry.WorkerInFlight, func(s *workershed.Snapshot, class int) float64 { return float64(s.InFlight[class]) }),
		workerClass(telemetry.WorkerQueued, func(s *workershed.Snapshot, class int) float64 { return float64(s.Queued[class]) }),
		workerClass(telemetry.WorkerShed, func(s *workershed.Snapshot, class int) float64 { return s.Shed[class] }),
		fleet(telemetry.FleetStreams, func(s *fleetshed.Stage) float64 { return float64(s.State().Streams()) }),
		fleet(telemetry.FleetReserve, (*fleetshed.Stage).Reserve),
		fleet(telemetry.FleetRoom, func(s *fleetshed.Stage) float64 { room, _ := s.Room(p.pipeline.Now()); return room }),
		{Metric: telemetry.FleetInFlight, Read: p.fleetInFlight},
	}
}

func (p *Process) workers(read func(*workershed.Snapshot) float64) (points []telemetry.Point) {
	for name, s := range stagesOf[*workershed.Stage](p) {
		snapshot := s.State().Snapshot()
		points = append(points, telemetry.Point{Labels: []string{name}, Value: read(&snapshot)})
	}
	return points
}

func (p *Process) workersByClass(read func(*workershed.Snapshot, int) float64) (points []telemetry.Point) {
	for name, s := range stagesOf[*workershed.Stage](p) {
		snapshot := s.State().Snapshot()
		for _, class := range priority.All {
			points = append(points, telemetry.Point{Labels: []string{name, class.String()}, Value: read(&snapshot, class.Index())})
		}
	}
	return points
}

func (p *Process) fleets(read func(*fleetshed.Stage) float64) (points []telemetry.Point) {
	for name, s := range stagesOf[*fleetshed.Stage](p) {
		points = append(points, telemetry.Point{Labels: []string{name}, Value: read(s)})
	}
	return points
}

func (p *Process) fleetInFlight() (points []telemetry.Point) {
	for name, s := range stagesOf[*fleetshed.Stage](p) {
		inFlight := s.State().InFlight()
		for _, class := range priority.All {
			points = append(points, telemetry.Point{Labels: []string{name, class.String()}, Value: float64(inFlight[class.Index()])})
		}
	}
	return points
}

// stagesOf is the stages of one type in the plan, by name.
func stagesOf[S any](p *Process) map[string]S {
	list := map[string]S{}
	plan := p.pipeline.Plan()
	for i := range plan.Len() {
		e := plan.Entry(i)
		if s, ok := e.Stage.(S); ok {
			list[e.Name] = s
		}
	}
	return list
}

// one is a gauge with one value.
func one(m telemetry.Metric, read func() float64, labels ...string) telemetry.Gauge {
	return telemetry.Gauge{Metric: m, Read: func() []telemetry.Point {
		return []telemetry.Point{{Labels: labels, Value: read()}}
	}}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
