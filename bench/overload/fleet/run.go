package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/priority"
)

// offered is the load of the incident, as a multiple of what all workers
// together can do.
const offered = 1.2

// mix is mostly work that is not critical, least important first.
var mix = load.Mix{20, 40, 20, 20}

// Run plays the incident and says what became of it.
func Run(ctx context.Context) (*Report, error) {
	return run(ctx, incident(), 0)
}

// RunMixed plays the story of a fleet of which half is half as fast.
func RunMixed(ctx context.Context) (*Report, error) {
	return run(ctx, mixed(), size/2)
}

func run(ctx context.Context, steps []step, slow int) (*Report, error) {
	s, end, err := newScene(ctx, slow)
	if err != nil {
		return nil, err
	}
	defer end()
	plan := load.Plan{Base: s.crew.able(), Mix: mix, Seed: 1}
	for _, step := range steps {
		plan.Phases = append(plan.Phases, load.Phase{Name: step.Name, Multiple: step.Load, Duration: step.Last})
	}
	g, err := load.New(load.Config{Plan: plan, Do: s.crew.do})
	if err != nil {
		return nil, err
	}
	watched, stop := context.WithCancel(ctx)
	defer stop()
	samples := make(chan []Sample, 1)
	go func() { samples <- watch(watched, s) }()
	played := make(chan error, 1)
	go func() { played <- play(ctx, s, steps) }()
	err = errors.Join(g.Run(ctx), <-played)
	stop()
	return newReport(steps, g.Report(), <-samples, s.crew), err
}

// newScene starts Redis, the workers, and a proxy between them, and waits until
// the fleet knows itself.
func newScene(ctx context.Context, slow int) (s *scene, end func(), err error) {
	s = &scene{}
	end = func() {
		if s.crew != nil {
			s.crew.end()
		}
		if s.proxy != nil {
			s.proxy.Close()
		}
		if s.server != nil {
			_ = s.server.Signal(continueIt)
			s.server.End()
		}
	}
	if err := s.start(ctx, slow); err != nil {
		end()
		return nil, nil, err
	}
	return s, end, nil
}

func (s *scene) start(ctx context.Context, slow int) (err error) {
	if s.server, err = redistest.New(redistest.Config{TCP: true}); err != nil {
		return err
	}
	if err = s.server.Launch(ctx); err != nil {
		return err
	}
	if s.proxy, err = redistest.NewProxy(s.server.Addr); err != nil {
		return err
	}
	if s.crew, err = newCrew(ctx, s.proxy.Addr(), slow); err != nil {
		return err
	}
	return s.known(ctx)
}

// known waits until every worker has heard of all.
func (s *scene) known(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		now := look(ctx, s.crew)
		if now.Live == size && now.Leased == size {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("fleet: the workers do not find each other: %+v", now)
		}
	}
}

// critical is the index of the class that must get through.
var critical = priority.Critical.Index()
