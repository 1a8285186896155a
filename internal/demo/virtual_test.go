package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/examples/payments/service"
	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// shedder stands in for the stages: one count of requests in flight, and how
// high it may be for each class to be let in.
type shedder struct {
	caps [priority.Count]int
	// refuse, when set, refuses what the caps would let in.
	refuse func(load.Arrival) bool

	mu       sync.Mutex
	inFlight int
}

// sound is a shedder that does what is claimed of the stages.
func sound() *shedder { return &shedder{caps: [priority.Count]int{20, 20, 20, 32}} }

func (s *shedder) enter(a load.Arrival) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight >= s.caps[a.Class.Index()] || s.refuse != nil && s.refuse(a) {
		return false
	}
	s.inFlight++
	return true
}

func (s *shedder) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// before puts the shedder before a service, in this process.
func (s *shedder) before(backend http.Handler, left *sync.WaitGroup) load.Do {
	return func(ctx context.Context, a load.Arrival) load.Answer {
		if !s.enter(a) {
			return load.Answer{Outcome: load.Refused, Refusal: load.Refusal{Stage: "workershed", Reason: "worker-shed"}}
		}
		answered := make(chan struct{})
		left.Go(func() {
			defer close(answered)
			defer s.leave()
			backend.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/balance", nil))
		})
		select {
		case <-answered:
			return load.Answer{}
		case <-ctx.Done():
			return load.Answer{Outcome: load.GaveUp}
		}
	}
}

// virtually runs an act in virtual time, and hands it on in the same bubble.
func virtually(t *testing.T, c Config, s *shedder, then func(*act)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.Out, c.Seed = t.Output(), 1
		c, err := c.prepared()
		if err != nil {
			t.Fatal(err)
		}
		backend, err := service.New(service.Config{Connections: 10})
		if err != nil {
			t.Fatal(err)
		}
		var left sync.WaitGroup
		a, err := newAct("with Plimsoll", c.plan(backend.Capacity(), c.Duration), s.before(backend, &left))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.run(t.Context(), time.Second, func() {}); err != nil {
			t.Fatal(err)
		}
		backend.Close()
		left.Wait()
		then(a)
	})
}
