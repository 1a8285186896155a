package overload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// fourStages is the whole of Plimsoll: callers have limits that this load does
// not reach, so that the shedders decide.
const fourStages = `
version: 1
priority: {default: normal, rules: [{match: {path: /never}, class: critical}]}
stages:
  - {stage: ratelimit, limits: [{name: per-caller, key: [caller], rate: 100000/s}]}
  - {stage: concurrency, limits: [{name: per-caller, key: [caller], max: 10000}]}
  - {stage: fleetshed, capacity: 100000}
  - {stage: workershed, max_in_flight: %d}
`

func plimsoll() Contestant {
	with := func(room func(*Service) int) func(*Service) (Shedder, error) {
		return func(s *Service) (Shedder, error) { return newPlimsoll(fmt.Sprintf(fourStages, room(s))) }
	}
	return Contestant{"plimsoll", []Setting{
		{"twice what saturates", with(func(s *Service) int { return 2 * max(s.Slots, slots) })},
		{"1.5 times", with(func(s *Service) int { return 3 * max(s.Slots, slots) / 2 })},
		{"200, as it comes", with(func(*Service) int { return 200 })},
	}}
}

type plimsollShedder struct {
	pipeline *pipeline.Pipeline
	requests sync.Pool
	callers  []pipeline.Caller
	stop     context.CancelFunc
	done     chan struct{}
}

func newPlimsoll(text string) (Shedder, error) {
	file, err := config.Parse("overload", []byte(text))
	if err != nil {
		return nil, err
	}
	protection, err := config.Protect(file, config.ProtectConfig{})
	if err != nil {
		return nil, err
	}
	s := &plimsollShedder{pipeline: protection.Pipeline(), done: make(chan struct{})}
	s.requests.New = func() any { return new(pipeline.Request) }
	for i := range callers {
		name := fmt.Sprintf("caller-%d", i)
		s.callers = append(s.callers, pipeline.Caller{ID: store.KeyOf(name), Name: name})
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		defer close(s.done)
		_ = protection.Run(ctx) // ends when it is stopped
	}()
	return s, nil
}

func (s *plimsollShedder) Serve(ctx context.Context, c Call, work Work) bool {
	return s.serve(ctx, c, func(*pipeline.Request) error { return work(ctx) })
}

func (s *plimsollShedder) ServeStream(ctx context.Context, c Call, work Work) bool {
	return s.serve(ctx, c, func(r *pipeline.Request) error {
		if s.pipeline.Detach(ctx, r).Verdict != pipeline.Admit {
			return context.Canceled
		}
		return work(ctx)
	})
}

func (s *plimsollShedder) serve(ctx context.Context, c Call, work func(*pipeline.Request) error) bool {
	r, _ := s.requests.Get().(*pipeline.Request)
	defer s.requests.Put(r)
	r.Reset()
	r.Caller, r.Class = s.callers[c.Caller], c.Class
	r.Now = s.pipeline.Now()
	r.Cohort = priority.CohortOf(r.Caller.ID.Hi, r.Now)
	r.Deadline = r.Now + int64(time.Until(c.Due))
	if s.pipeline.Acquire(ctx, r).Verdict != pipeline.Admit {
		return false
	}
	result := pipeline.Result{Outcome: pipeline.Dropped}
	defer func() { s.pipeline.Release(r, result) }()
	if work(r) == nil {
		result.Outcome = pipeline.Completed
	}
	return true
}

func (s *plimsollShedder) Close() {
	s.stop()
	<-s.done
}
