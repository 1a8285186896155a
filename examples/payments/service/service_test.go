package service

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
)

func TestTheDefaultIsAThousandRequestsASecond(t *testing.T) {
	if s := must(t, Config{}); s.Capacity() != 1000 {
		t.Errorf("capacity is %v", s.Capacity())
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	_, err := New(Config{Connections: -1, Query: -1})
	if err == nil || !strings.Contains(err.Error(), "connections") || !strings.Contains(err.Error(), "query") {
		t.Errorf("error is %v", err)
	}
}

// Below its capacity the service answers everyone. At three times of it, it
// works without pause and for hardly anyone; and when the load has gone, it
// goes on working for those who left.
func TestWithoutProtectionOverloadLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := must(t, Config{Connections: 5})
		var left sync.WaitGroup
		g, err := load.New(load.Config{Do: direct(s, &left), Plan: load.Plan{Base: s.Capacity(), Seed: 1, Phases: []load.Phase{
			{Multiple: 0.6, Duration: 2 * time.Second},
			{Multiple: 3, Duration: 4 * time.Second},
			{Multiple: 0.6, Duration: 2 * time.Second},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		time.AfterFunc(2*time.Second, func() { done = -s.Done() })
		time.AfterFunc(6*time.Second, func() { done += s.Done() })
		if err := g.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for phase, within := range [][2]float64{{0.98, 1}, {0, 0.15}, {0, 0}} {
			from, to := g.Report().Phase(phase)
			cells := g.Report().Between(from, to)
			all := cells.All()
			if share := all.GoodShare(); share < within[0] || share > within[1] {
				t.Errorf("phase %d: %.1f%% of %d were good, want %v to %v", phase, 100*share, all.Offered, within[0], within[1])
			}
		}
		if done < 850 || done > 1150 {
			t.Errorf("in 4s of overload %d queries ran, the capacity is 1,000", done)
		}
		if s.Working() != s.Connections() || s.Waiting() < 1_300 {
			t.Errorf("at the end %d work and %d wait", s.Working(), s.Waiting())
		}
		s.Close()
		left.Wait()
		if s.Waiting() != 0 || s.Working() != 0 {
			t.Errorf("after Close %d work and %d wait", s.Working(), s.Waiting())
		}
	})
}

// A client that leaves while it waits uses up a connection all the same.
func TestAClientThatLeftStillCostsItsQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := must(t, Config{Connections: 1, Query: time.Second})
		s.connections <- struct{}{}
		ctx, cancel := context.WithCancel(t.Context())
		var request sync.WaitGroup
		defer request.Wait()
		request.Go(func() {
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/v1/balance", nil))
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if s.Waiting() != 1 {
			t.Errorf("%d wait", s.Waiting())
		}
		<-s.connections
		synctest.Wait()
		if s.Working() != 1 || s.Waiting() != 0 {
			t.Errorf("%d work, %d wait", s.Working(), s.Waiting())
		}
	})
}

// direct calls the service in this process. A caller that gives up leaves its
// request behind, as a closed connection does.
func direct(s *Service, left *sync.WaitGroup) load.Do {
	return func(ctx context.Context, _ load.Arrival) load.Answer {
		answered := make(chan struct{})
		left.Go(func() {
			defer close(answered)
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/balance", nil))
		})
		select {
		case <-answered:
			return load.Answer{}
		case <-ctx.Done():
			return load.Answer{Outcome: load.GaveUp}
		}
	}
}

func must(t *testing.T, c Config) *Service {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
