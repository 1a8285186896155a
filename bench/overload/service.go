package overload

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// Service is what is protected.
type Service struct {
	// Slots is how many calls are worked on at once, as by a pool of
	// connections; calls beyond wait for one, as long as their callers do.
	// 0: no bound, the processor is shared by all.
	Slots int
	// Capacity is what it can do, in calls a second.
	Capacity float64

	work  func(ctx context.Context, s *Service) error
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
	s := &Service{Slots: slots, Capacity: float64(slots) * float64(time.Second/wait), work: waiting}
	s.slots = make(chan struct{}, slots)
	s.slow.Store(1)
	return s
}

func waiting(ctx context.Context, s *Service) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.slots }()
	time.Sleep(time.Duration(rand.ExpFloat64() * float64(wait) * float64(s.slow.Load())))
	return ctx.Err()
}

// effort is the processor time of a call of a service that computes.
const effort = 2 * time.Millisecond

// NewPieces is a service that computes in four pieces with waits of 1 ms
// between them.
func NewPieces() *Service {
	const pieces = 4
	return computing(func(ctx context.Context, _ *Service) error {
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
	return computing(func(ctx context.Context, _ *Service) error {
		spin(effort)
		return ctx.Err()
	})
}

func computing(work func(context.Context, *Service) error) *Service {
	s := &Service{work: work}
	s.slow.Store(1)
	s.Capacity = s.measure()
	return s
}

// Work does one call.
func (s *Service) Work(ctx context.Context) error { return s.work(ctx, s) }

// Slow makes calls take n times as long from now on.
func (s *Service) Slow(n int) { s.slow.Store(int64(n)) }

// measured is how long a service that computes is tried out.
const measured = 1500 * time.Millisecond

// measure is how many calls a second the service does, with as many at once as
// keep the processor busy: what it can do depends on the machine and its
// neighbours, so it is measured before each run.
func (s *Service) measure() float64 {
	ctx, stop := context.WithTimeout(context.Background(), measured)
	defer stop()
	atOnce := 4 * runtime.GOMAXPROCS(0)
	done := make(chan int, atOnce)
	for range atOnce {
		go func() {
			n := 0
			for ; s.Work(ctx) == nil; n++ {
			}
			done <- n
		}()
	}
	sum := 0
	for range atOnce {
		sum += <-done
	}
	return float64(sum) / measured.Seconds()
}

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
