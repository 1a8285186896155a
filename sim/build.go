package sim

import (
	"time"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
)

// The entries of every worker's plan.
const (
	gateEntry = iota
	rateEntry
	slotsEntry
	fleetEntry
	workerEntry
	entries
)

// byCaller is whose requests count together.
var byCaller = pipeline.Owner{{Kind: pipeline.ByCaller}}

// newWorker makes a process of its own, and starts nothing.
func newWorker(world *world, place, incarnation int) (*worker, error) {
	s := &world.scenario.setup
	seed := mixed(world.seed ^ mixed(uint64(place)<<32|uint64(incarnation)))
	w := &worker{world: world, place: place, server: newServer(&s.machine)}
	w.link = &link{worker: w, shared: world.shared, seed: seed}
	w.books = newBooks(w)
	random := &lockedChance{chance: newChance(seed, 1)}
	w.guard = store.NewGuard(w.link, store.GuardConfig{Local: newLocal(w), Leases: store.LeaseConfig{Off: s.hot == 0, HotAt: s.hot}, Random: random.Float64, OnState: w.books.stateChanged})
	w.state = workershed.NewSimulatedState(workershed.Processors{
		Count:   max(1, s.machine.processors),
		Backlog: func() (time.Duration, int) { return w.server.backlog(&w.server.waits) },
		Glance:  func() (time.Duration, int) { return w.server.backlog(&w.server.glanced) },
	})
	w.usage = new(fleetshed.State)
	if err := w.addMember(s, seed); err != nil {
		return nil, err
	}
	plan, err := w.plan(s)
	if err != nil {
		return nil, err
	}
	w.pipeline, err = pipeline.New(pipeline.Config{Plan: plan, Store: w.guard, Observer: w.books})
	return w, err
}

func (w *worker) addMember(s *setup, seed uint64) (err error) {
	random := &lockedChance{chance: newChance(seed, 2)}
	w.member, err = fleet.New(fleet.Config{
		Worker: w.name(), Terms: fleet.Terms{Reserve: s.reserve, Declared: s.declared},
		Capacity: w.capacity, Usage: usage{w}, Store: w.guard, Random: random.Float64,
		Now: func() int64 { return w.pipeline.Now() },
	})
	return err
}

func (w *worker) capacity() float64 { return float64(w.state.Limit()) }

// plan is the four stages, behind the gate of a process that may be frozen.
func (w *worker) plan(s *setup) (*pipeline.Plan, error) {
	rate, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{
		{Name: "requests", Key: byCaller, Rate: s.rate, Burst: s.burst},
	}}, nil)
	if err != nil {
		return nil, err
	}
	slots, err := concurrency.New(concurrency.Config{Limits: []concurrency.Limit{
		{Name: "in-flight", Key: byCaller, Max: s.slots, Lease: s.lease},
	}}, nil)
	if err != nil {
		return nil, err
	}
	reserve := s.reserve
	if reserve == 0 {
		reserve = fleetshed.NoReserve
	}
	w.stages.fleet, err = fleetshed.New(fleetshed.Config{
		Reserve: reserve, Declared: s.declared, Capacity: w.capacity, Lease: w.member,
	}, w.usage)
	if err != nil {
		return nil, err
	}
	w.stages.worker, err = workershed.New(workershed.Config{MaxInFlight: s.limit, Ramp: workershed.Ramp(s.ramp)}, w.state)
	if err != nil {
		return nil, err
	}
	return pipeline.NewPlan(
		pipeline.Entry{Name: "gate", Stage: gate{w}},
		pipeline.Entry{Name: "rate", Stage: rate},
		pipeline.Entry{Name: "slots", Stage: slots},
		pipeline.Entry{Name: "fleet", Stage: w.stages.fleet},
		pipeline.Entry{Name: "worker", Stage: w.stages.worker},
	)
}

// limits are what every caller is held to, as the stages prepare them.
func (s *setup) limits() (tokens, slots *store.Limit, err error) {
	tokens, err = store.NewTokens("requests", store.TokenBucket, s.rate, s.burst)
	if err != nil {
		return nil, nil, err
	}
	slots, err = store.NewSlots("in-flight", s.slots, s.lease)
	return tokens, slots, err
}
