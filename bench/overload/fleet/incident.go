package fleet

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// scene is what things are done to.
type scene struct {
	crew   *crew
	server *redistest.Server
	proxy  *redistest.Proxy // between the workers and Redis
}

// step is something that happens, and how long it is looked at.
type step struct {
	Name string
	Load float64 // as a multiple of what all workers together can do
	Last time.Duration
	do   func(context.Context, *scene) error
}

// Workers that something happens to.
const (
	killed1, killed2 = 0, 1
	frozen           = 2
)

// slowly is how long Redis takes, there and back, when it is slow.
const slowly = 200 * time.Millisecond

// incident is the whole story: 84 seconds.
func incident() []step {
	return []step{
		{"all is well", offered, 6 * time.Second, nothing},
		{"two workers killed", offered, 10 * time.Second, func(_ context.Context, s *scene) error {
			return firstOf(s.crew.signal(killed1, syscall.SIGKILL), s.crew.signal(killed2, syscall.SIGKILL))
		}},
		{"and started again", offered, 6 * time.Second, func(ctx context.Context, s *scene) error {
			return firstOf(s.crew.start(ctx, killed1), s.crew.start(ctx, killed2))
		}},
		{"one worker frozen", offered, 15 * time.Second, func(_ context.Context, s *scene) error { return s.crew.signal(frozen, syscall.SIGSTOP) }},
		{"and thawed", offered, 5 * time.Second, func(_ context.Context, s *scene) error { return s.crew.signal(frozen, syscall.SIGCONT) }},
		{"Redis paused", offered, 10 * time.Second, func(_ context.Context, s *scene) error { return s.server.Signal(syscall.SIGSTOP) }},
		{"and resumed", offered, 5 * time.Second, func(_ context.Context, s *scene) error { return s.server.Signal(syscall.SIGCONT) }},
		{"Redis flushed", offered, 6 * time.Second, func(ctx context.Context, s *scene) error { return s.server.Admin.FlushAll(ctx).Err() }},
		{"Redis restarted, empty", offered, 7 * time.Second, func(ctx context.Context, s *scene) error {
			s.server.Kill()
			return s.server.Launch(ctx)
		}},
		{"Redis slow, 200 ms", offered, 8 * time.Second, func(_ context.Context, s *scene) error {
			s.proxy.Delay(func() time.Duration { return slowly / 2 })
			return nil
		}},
		{"and quick", offered, 6 * time.Second, func(_ context.Context, s *scene) error {
			s.proxy.Delay(func() time.Duration { return 0 })
			return nil
		}},
	}
}

// mixed is the story of a fleet of which some are half as fast: 40 seconds. The
// balancer knows nothing of it, and sends all of them the same.
func mixed() []step {
	return []step{
		{"calm", 0.6, 8 * time.Second, nothing},
		{"a little too much", offered, 12 * time.Second, nothing},
		{"three times too much", 3, 8 * time.Second, nothing},
		{"a slow and a fast one killed", offered, 8 * time.Second, func(_ context.Context, s *scene) error {
			return firstOf(s.crew.signal(killed1, syscall.SIGKILL), s.crew.signal(killed2, syscall.SIGKILL))
		}},
		{"calm again, and started", 0.6, 8 * time.Second, func(ctx context.Context, s *scene) error {
			return firstOf(s.crew.start(ctx, killed1), s.crew.start(ctx, killed2))
		}},
	}
}

func nothing(context.Context, *scene) error { return nil }

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// play does one step after the other, each at its moment.
func play(ctx context.Context, s *scene, steps []step) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := time.Now()
	for _, step := range steps {
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := step.do(ctx, s); err != nil {
			return fmt.Errorf("fleet: %s: %w", step.Name, err)
		}
		due = due.Add(step.Last)
	}
	return nil
}
