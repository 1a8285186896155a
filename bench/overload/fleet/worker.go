package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/priority"
)

// What a worker can do.
const (
	slots    = 5
	service  = 20 * time.Millisecond
	inFlight = 2 * slots // room, twice what saturates it
	reserve  = 0.20      // the stage's default
)

// protection is what each worker runs by.
const protection = `
version: 1
store: {driver: redis, redis: {dsn: "redis://%s"}}
priority:
  default: normal
  rules: [{match: {path: /critical}, class: critical}, {match: {path: /high}, class: high}, {match: {path: /low}, class: low}]
stages:
  - {stage: fleetshed}
  - {stage: workershed, max_in_flight: %d}
`

// State is what a worker says of itself.
type State struct {
	Critical, Others int     // in flight
	Limit            int     // of its own stage
	Lease            float64 // non-critical room
	Leased           bool    // by the fleet's word, and not by its own capacity
	Capacity         float64 // of the fleet, by the fleet's last word
	Live             int     // workers of the fleet, by the same
}

// Service is how long the handler of a worker takes that is not slow.
const Service = service

// Work is a worker: it serves on a free port of the loopback, which it writes
// to out, until the context ends. A request takes one of its slots for service.
func Work(ctx context.Context, redis string, service time.Duration, out io.Writer) error {
	file, err := config.Parse("fleet", fmt.Appendf(nil, protection, redis, inFlight))
	if err != nil {
		return err
	}
	protect, err := config.Protect(file, config.ProtectConfig{})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", protect.Wrap(newService(service)))
	mux.HandleFunc("/state", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(state(protect)) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	running := make(chan error, 1)
	go func() { running <- protect.Run(ctx) }()
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	fmt.Fprintln(out, listener.Addr())
	server.Serve(listener)
	return <-running
}

// newService has five slots, which callers wait for as long as they like.
func newService(service time.Duration) http.Handler {
	free := make(chan struct{}, slots)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		defer func() { <-free }()
		time.Sleep(service)
		w.WriteHeader(http.StatusNoContent)
	})
}

func state(p *config.Protection) State {
	live := p.Current().Live
	lease := live.Member().Lease()
	now := p.Pipeline().Now()
	s := State{Limit: live.Worker().Limit(), Capacity: lease.Capacity, Live: lease.Live, Leased: lease.Heard != 0 && now < lease.Until}
	s.Lease, _ = live.Member().Room(now)
	for class, n := range live.Fleet().InFlight() {
		if class == priority.Critical.Index() {
			s.Critical = int(n)
		} else {
			s.Others += int(n)
		}
	}
	return s
}
