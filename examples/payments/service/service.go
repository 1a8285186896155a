package service

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
)

// Config sets a service. The zero value is the default: 1,000 requests a second.
type Config struct {
	// Connections is the size of the database pool: how many requests are
	// worked on at once. 1 or more; default 20.
	Connections int
	// Query is how long a request holds its connection, on average. Single
	// queries are exponentially distributed: many short ones, a few long ones.
	// Above 0; default 20ms.
	Query time.Duration
}

// Service is the API. It is an http.Handler.
type Service struct {
	config      Config
	connections chan struct{} // holds one token for each query that runs
	routes      *http.ServeMux
	waiting     atomic.Int64
	done        atomic.Int64
	closed      chan struct{}
}

// New checks a configuration and makes a service of it.
func New(c Config) (*Service, error) {
	if c.Connections == 0 {
		c.Connections = 20
	}
	if c.Query == 0 {
		c.Query = 20 * time.Millisecond
	}
	var errs []error
	if c.Connections < 0 {
		errs = append(errs, fmt.Errorf("service: connections must be at least 1, got %d", c.Connections))
	}
	if c.Query < 0 {
		errs = append(errs, fmt.Errorf("service: query must be above 0, got %v", c.Query))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s := &Service{config: c, connections: make(chan struct{}, c.Connections), closed: make(chan struct{})}
	s.routes = s.mux()
	return s, nil
}

// Connections is the size of the database pool.
func (s *Service) Connections() int { return s.config.Connections }

// Query is how long a query takes, on average.
func (s *Service) Query() time.Duration { return s.config.Query }

// Capacity is the number of requests a second that the service can do.
func (s *Service) Capacity() float64 {
	return float64(s.config.Connections) / s.config.Query.Seconds()
}

// Waiting is how many requests wait for a connection now, those of clients
// that have left included.
func (s *Service) Waiting() int { return int(s.waiting.Load()) }

// Working is how many queries run now.
func (s *Service) Working() int { return len(s.connections) }

// Done is how many queries have run, for whomever.
func (s *Service) Done() int { return int(s.done.Load()) }

// Close sends away all who wait for a connection. Call it once, at the end.
func (s *Service) Close() { close(s.closed) }

// ServeHTTP answers one request, after as long as it takes.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// query waits for a connection and holds it for as long as a query takes. It
// does not look at the request's context: the client may be gone, the
// connection is used up regardless.
func (s *Service) query() error {
	if err := s.connect(); err != nil {
		return err
	}
	time.Sleep(time.Duration(rand.ExpFloat64() * float64(s.config.Query)))
	<-s.connections
	s.done.Add(1)
	return nil
}

func (s *Service) connect() error {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case s.connections <- struct{}{}:
		return nil
	case <-s.closed:
		return http.ErrServerClosed
	}
}
