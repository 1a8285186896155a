package overload

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Service is what is protected.
type Service struct {
	// Slots is how many calls are worked on at once, as by a pool of
	// connections; calls beyond wait for one, as long as their callers do.
	// 0: no bound, the processor is shared by all.
	Slots int
	// Capacity is what it can do, in calls a second; 0 when it depends on the
	// machine and its neighbours, and has to be measured before each run.
	Capacity float64

	work  func(ctx context.Context, s *Service, c Call) error
	slots chan struct{}
	slow  atomic.Int64 // how many times longer a call takes now, at least 1
}

// wait is the mean time of a call of a service with slots.
const wait = 10 * time.Millisecond

// slots is how many calls that service works on at once.
const slots = 20

// NewIO is a service that waits: 20 slots, exponential times of 10 ms, 2,000
// calls a second. A call that has a slot is worked on to its end, also when its
// caller has left.
func NewIO() *Service {
	return newWaiting(waiting)
}

func newWaiting(work func(context.Context, *Service, Call) error) *Service {
	s := &Service{Slots: slots, Capacity: float64(slots) * float64(time.Second/wait), work: work}
	s.slots = make(chan struct{}, slots)
	s.slow.Store(1)
	return s
}

func waiting(ctx context.Context, s *Service, _ Call) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.slots }()
	time.Sleep(time.Duration(rand.ExpFloat64() * float64(wait) * float64(s.slow.Load())))
	return ctx.Err()
}

// NewMixed is a service with slots and two kinds of calls: four of five take
// 4 ms and the fifth 34 ms, exactly, so that the mean, and with it the
// capacity, is that of NewIO. No mean of times describes either.
func NewMixed() *Service {
	return newWaiting(func(ctx context.Context, s *Service, c Call) error {
		const brief, long, everyFifth = 4 * time.Millisecond, 34 * time.Millisecond, 5
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-s.slots }()
		if c.Pick/callers%everyFifth == 0 {
			time.Sleep(long)
		} else {
			time.Sleep(brief)
		}
		return ctx.Err()
	})
}

// effort is the processor time of a call of a service that computes.
const effort = 2 * time.Millisecond

// NewPieces is a service that computes in four pieces with waits of 1 ms
// between them.
func NewPieces() *Service {
	const pieces = 4
	return computing(func(ctx context.Context, _ *Service, _ Call) error {
		for i := range pieces {
			if i > 0 {
				time.Sleep(time.Millisecond)
			}
			spin(effort / pieces)
		}
		return ctx.Err()
	})
}

// NewOnePiece is a service that computes without a wait: nothing that counts
// calls in flight sees it busy.
func NewOnePiece() *Service {
	return computing(func(ctx context.Context, _ *Service, _ Call) error {
		spin(effort)
		return ctx.Err()
	})
}

func computing(work func(context.Context, *Service, Call) error) *Service {
	s := &Service{work: work}
	s.slow.Store(1)
	return s
}

// Work does one call.
func (s *Service) Work(ctx context.Context, c Call) error { return s.work(ctx, s, c) }

// Slow makes calls take n times as long from now on.
func (s *Service) Slow(n int) { s.slow.Store(int64(n)) }

// spin keeps the processor busy for as long as d of it takes on a machine that
// does nothing else: a number of rounds, not a span of time, as a call that is
// interrupted has not done its work yet.
func spin(d time.Duration) {
	x := uint64(1)
	for range int(float64(d) / nanosecondsPerRound) {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

var sink atomic.Uint64

// nanosecondsPerRound is the fastest of several readings, taken once.
var nanosecondsPerRound = func() float64 {
	const rounds = 1_000_000
	best := time.Duration(1 << 62)
	for range 20 {
		began, x := time.Now(), uint64(1)
		for range rounds {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		sink.Store(x)
		best = min(best, time.Since(began))
	}
	return max(float64(best)/rounds, 0.01)
}()
