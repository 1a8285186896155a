package demo

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// spell is what was seen in one phase.
type spell struct {
	scene
	length    time.Duration
	lasted    time.Duration // until the last answer
	fallbacks uint64
	state     string        // of the store, the worst that a worker says, at the end
	knownIn   time.Duration // until every worker knew the state that the phase brings; 0: not at all

	mu                        sync.Mutex
	admitted, refused, failed int
	took                      []time.Duration // from the planned moment of sending
}

func (s *spell) add(status int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch status {
	case http.StatusNoContent:
		s.admitted++
	case http.StatusTooManyRequests:
		s.refused++
	default:
		s.failed++
	}
	s.took = append(s.took, took)
}

// at is a quantile of the time to an answer.
func (s *spell) at(q float64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func (s *spell) all() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitted + s.refused + s.failed
}

// load sends requests at their planned moments, whatever becomes of those
// before, and returns when all are answered.
func (s *spell) load(ctx context.Context, f *crew) error {
	var group sync.WaitGroup
	begun := time.Now()
	defer func() {
		group.Wait()
		s.lasted = time.Since(begun)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; ; n++ {
		planned := begun.Add(time.Duration(n) * time.Second / fleetRate)
		if planned.Sub(begun) >= s.length {
			return nil
		}
		timer.Reset(time.Until(planned))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		group.Go(func() { s.add(f.ask(ctx, n, "/work"), time.Since(planned)) })
	}
}

// know measures how long every worker takes to know what has become of Redis.
func (s *spell) know(ctx context.Context, f *crew) {
	want := "ok"
	if s.absent {
		want = "down"
	}
	begun := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if f.state() == want && (want == "ok" || f.allDown()) {
			s.knownIn = time.Since(begun)
			return
		}
	}
}
