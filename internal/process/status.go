package process

import (
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
)

// BuiltIn is the source of a process without a file.
const BuiltIn = "built-in"

// Status is what the process does now.
func (p *Process) Status() admin.Status {
	built := p.built.Load()
	s := admin.Status{
		Version: p.config.Version, State: *p.state.Load(), Started: p.started, Uptime: time.Since(p.started),
		Listen: string(p.began.Listen), Upstream: string(p.began.Upstream), InFlight: p.pipeline.InFlight(),
		Config: p.configuration(),
		Store:  p.store(built.Live),
		Fleet:  p.fleet(built.Live),
		Counts: admin.CountsOf(p.telemetry),
	}
	plan := p.pipeline.Plan()
	for i := range plan.Len() {
		e := plan.Entry(i)
		s.Stages = append(s.Stages, admin.Stage{
			Name: e.Name, Kind: e.Kind, Mode: e.Mode.String(), OnFault: e.OnFault.String(), Detail: p.detail(&e),
		})
	}
	return s
}

func (p *Process) configuration() admin.Configuration {
	c := admin.Configuration{Source: BuiltIn, Generation: 1, Loaded: p.started, AfterRestart: p.built.Load().Restart}
	if p.watcher == nil {
		return c
	}
	w := p.watcher.Status()
	c.Source, c.Generation, c.Loaded = p.config.Path, w.Generation, w.LoadedAt
	if w.LastError != nil {
		c.Error, c.Refused = w.LastError.Error(), w.FailedAt
	}
	return c
}

// fleetDetail is what the fleet's stage tells of itself.
type fleetDetail struct {
	Reserve  float64        `json:"reserve"`
	Room     float64        `json:"room"` // for requests that are not critical; 0 when it is not known
	InFlight store.PerClass `json:"in_flight"`
	Streams  int64          `json:"streams"`
	Workers  int            `json:"workers"` // live, by the last heartbeat
}

func (p *Process) detail(e *pipeline.Entry) any {
	switch s := e.Stage.(type) {
	case *fleetshed.Stage:
		room, _ := s.Room(p.pipeline.Now())
		return fleetDetail{
			Reserve: s.Reserve(), Room: room, InFlight: s.State().InFlight(), Streams: s.State().Streams(),
			Workers: p.built.Load().Live.Member().Lease().Live,
		}
	case *workershed.Stage:
		return s.State().Snapshot()
	}
	return nil
}
