package process

import (
	"runtime"

	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// sources is what the process tells at a scrape, beside what is counted.
func (p *Process) sources() (list []telemetry.Source) {
	for _, part := range [][]telemetry.Source{
		p.ownSources(), p.overrideSources(), p.storeSources(), p.workerSources(), p.fleetShedSources(), p.fleetSources(), p.pushSources(),
	} {
		list = append(list, part...)
	}
	return list
}

func (p *Process) ownSources() []telemetry.Source {
	return []telemetry.Source{
		one(telemetry.Serving, func() float64 { return truth(p.ready()) }),
		one(telemetry.BuildInfo, func() float64 { return 1 }, p.config.Version, runtime.Version()),
		one(telemetry.ConfigGeneration, func() float64 { return float64(p.configuration().Generation) }),
		one(telemetry.ConfigOK, func() float64 { return truth(p.configuration().Error == "") }),
		one(telemetry.ConfigApplied, func() float64 { return float64(p.configuration().Loaded.UnixNano()) / 1e9 }),
		{Metric: telemetry.ConfigReloads, Read: p.reloads},
		{Metric: telemetry.UpstreamFailures, Read: p.upstreamFailures},
	}
}

func (p *Process) reloads() []telemetry.Point {
	refused := 0
	if p.watcher != nil {
		refused = p.watcher.Status().Refused
	}
	return []telemetry.Point{point(p.configuration().Generation, "applied"), point(refused, "refused")}
}

func (p *Process) upstreamFailures() (points []telemetry.Point) {
	for failure, n := range p.proxy.Failures() {
		points = append(points, point(n, failure.String()))
	}
	return points
}

func (p *Process) storeSources() []telemetry.Source {
	guard := func() store.Stats { return p.built.Load().Live.Guard().Stats() }
	leases := func() store.LeaseStats { return p.built.Load().Live.Guard().Leases() }
	table := func() memstore.Stats { return p.built.Load().Live.Memory().Stats() }
	return []telemetry.Source{
		one(telemetry.StoreState, func() float64 { return float64(p.built.Load().Live.Guard().State()) }, string(p.began.Store.Driver)),
		one(telemetry.StoreUnderWay, func() float64 { return float64(guard().UnderWay) }),
		one(telemetry.StoreReturnsQueued, func() float64 { return float64(guard().Queued) }),
		{Metric: telemetry.StoreFailures, Read: func() []telemetry.Point {
			s := guard()
			return []telemetry.Point{point(s.Failed, "failed"), point(s.Late, "late"), point(s.Skipped, "skipped"), point(s.Crowded, "crowded")}
		}},
		{Metric: telemetry.StoreReturns, Read: func() []telemetry.Point {
			s := guard()
			return []telemetry.Point{point(s.Reclaimed, "reclaimed"), point(s.Dropped, "dropped"), point(s.Lost, "lost")}
		}},
		one(telemetry.StoreLeasedKeys, func() float64 { return float64(leases().Keys) }),
		one(telemetry.StoreLeasedTokens, func() float64 { return float64(leases().Held) }),
		{Metric: telemetry.StoreLentTokens, Read: func() []telemetry.Point {
			s := leases()
			return []telemetry.Point{point(s.Lent, "lent"), point(s.Returned, "returned"), point(s.Void, "void")}
		}},
		{Metric: telemetry.StoreLeases, Read: func() []telemetry.Point {
			s := leases()
			return []telemetry.Point{point(s.Calls, "loan"), point(s.Evicted, "evicted"), point(s.Late, "late")}
		}},
		one(telemetry.StoreKeys, func() float64 { return float64(table().Keys) }),
		one(telemetry.StoreKeysLimit, func() float64 { return float64(table().MaxKeys) }),
		one(telemetry.StoreForgotten, func() float64 { return float64(table().Forgotten) }),
		one(telemetry.StoreSpilled, func() float64 { return float64(table().Spilled) }),
	}
}

// fleetShedSources is what the fleet's stages of the plan tell of themselves.
func (p *Process) fleetShedSources() []telemetry.Source {
	of := func(m telemetry.Metric, read func(*fleetshed.Stage) float64) telemetry.Source {
		return telemetry.Source{Metric: m, Read: func() (points []telemetry.Point) {
			for name, s := range stagesOf[*fleetshed.Stage](p) {
				points = append(points, point(read(s), name))
			}
			return points
		}}
	}
	return []telemetry.Source{
		of(telemetry.FleetStreams, func(s *fleetshed.Stage) float64 { return float64(s.State().Streams()) }),
		of(telemetry.FleetReserve, (*fleetshed.Stage).Reserve),
		of(telemetry.FleetRoom, func(s *fleetshed.Stage) float64 { room, _ := s.Room(p.pipeline.Now()); return room }),
		{Metric: telemetry.FleetInFlight, Read: func() (points []telemetry.Point) {
			for name, s := range stagesOf[*fleetshed.Stage](p) {
				points = append(points, byClass(s.State().InFlight(), name)...)
			}
			return points
		}},
	}
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

// one is a metric with one value.
func one(m telemetry.Metric, read func() float64, labels ...string) telemetry.Source {
	return telemetry.Source{Metric: m, Read: func() []telemetry.Point { return []telemetry.Point{point(read(), labels...)} }}
}

func point[N int | int64 | uint64 | float64](n N, labels ...string) telemetry.Point {
	return telemetry.Point{Labels: labels, Value: float64(n)}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
