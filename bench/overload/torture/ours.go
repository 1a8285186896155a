package torture

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

// plimsoll is the worker's stage behind the middleware. Its limit is fixed and
// the same for all classes, so that room is a number.
func plimsoll() Subject {
	return Subject{
		Name: "plimsoll", Form: "httpmw, stage workershed", Caps: true, Waits: true, Skews: true,
		Make: func(o Options) (*Victim, error) {
			s := &ourStage{options: o, state: workershed.NewState()}
			plan, err := s.plan(o.Room)
			if err != nil {
				return nil, err
			}
			if s.pipeline, err = pipeline.New(pipeline.Config{Plan: plan}); err != nil {
				return nil, err
			}
			edge, err := httpmw.New(httpmw.Config{}, s.pipeline)
			if err != nil {
				return nil, err
			}
			return &Victim{
				Wrap: edge.Wrap, Running: s.running, Queued: s.queued, Acquire: s.acquire, SetRoom: s.setRoom, Close: s.start(),
			}, nil
		},
	}
}

type ourStage struct {
	options  Options
	state    *workershed.State
	pipeline *pipeline.Pipeline
}

func (s *ourStage) start() (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = s.pipeline.Run(ctx) }) // ends when it is stopped
	return func() {
		stop()
		run.Wait()
	}
}

func (s *ourStage) plan(room int) (*pipeline.Plan, error) {
	c := workershed.Config{
		MaxInFlight: room, MaxWait: s.options.Wait, QueuePerClass: s.options.Queue,
		ClassShare: [priority.Count]float64{1, 1, 1, 1}, Adaptive: workershed.Fixed, Ramp: workershed.NoRamp,
	}
	if s.options.Queue == 0 {
		c.QueuePerClass = workershed.NoQueue
	}
	stage, err := workershed.New(c, s.state)
	if err != nil {
		return nil, err
	}
	return pipeline.NewPlan(pipeline.Entry{Name: "workershed", Stage: stage})
}

func (s *ourStage) setRoom(n int) error {
	plan, err := s.plan(n)
	if err != nil {
		return err
	}
	return s.pipeline.Swap(plan)
}

func (s *ourStage) running() int {
	snapshot := s.state.Snapshot()
	return sum(snapshot.InFlight) + snapshot.Streams
}

func (s *ourStage) queued() int { return sum(s.state.Snapshot().Queued) }

func sum(of [priority.Count]int) (n int) {
	for _, count := range of {
		n += count
	}
	return n
}

func (s *ourStage) acquire(skew time.Duration) (release func(), ok bool) {
	r := &pipeline.Request{Class: priority.Normal, Now: s.pipeline.Now() + int64(skew)}
	if s.pipeline.Acquire(context.Background(), r).Verdict != pipeline.Admit {
		return nil, false
	}
	return func() { s.pipeline.Release(r, pipeline.Result{}) }, true
}
