package httpmw_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// room is a stage that has room for some requests and some streams.
type room struct {
	mu      sync.Mutex
	left    int
	streams int
	look    func(*pipeline.Request) pipeline.Decision
	wait    bool // instead of refusing, until the context ends
}

const (
	asRequest pipeline.Permit = iota + 1
	asStream
)

func (s *room) Look(r *pipeline.Request) pipeline.Decision {
	if s.look == nil {
		return pipeline.Decision{}
	}
	return s.look(r)
}

func (s *room) Take(ctx context.Context, _ *pipeline.Request) pipeline.Decision {
	if s.wait {
		<-ctx.Done()
		return pipeline.Decision{Verdict: pipeline.Abandon}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return pipeline.Refuse(pipeline.WorkerShed)
	}
	s.left--
	return pipeline.Decision{Permit: asRequest}
}

func (s *room) Release(_ *pipeline.Request, p pipeline.Permit, _ pipeline.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p == asStream {
		s.streams++
	} else {
		s.left++
	}
}

func (s *room) Detach(*pipeline.Request, pipeline.Permit) pipeline.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams == 0 {
		return pipeline.Refuse(pipeline.WorkerShed)
	}
	s.streams--
	s.left++
	return pipeline.Decision{Permit: asStream}
}

func (s *room) free() (requests, streams int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left, s.streams
}

// looking is a stage that only looks.
type looking func(*pipeline.Request) pipeline.Decision

func (f looking) Look(r *pipeline.Request) pipeline.Decision { return f(r) }

// refusing refuses everything with a detail.
func refusing(reason pipeline.Reason, d pipeline.Detail) looking {
	return func(r *pipeline.Request) pipeline.Decision {
		r.Detail = d
		return pipeline.Refuse(reason)
	}
}

// witness is an observer that keeps what it was told.
type witness struct {
	mu       sync.Mutex
	results  []pipeline.Result
	seen     []pipeline.Request // what the stages saw, without its admission
	released chan struct{}      // gets one for each release
	decided  func(*pipeline.Request, pipeline.Decision)
}

func newWitness() *witness { return &witness{released: make(chan struct{}, 1000)} }

func (w *witness) Decided(r *pipeline.Request, d pipeline.Decision) {
	w.mu.Lock()
	w.seen = append(w.seen, pipeline.Request{
		Subject: r.Subject, Caller: r.Caller, Address: r.Address, Class: r.Class, Cohort: r.Cohort,
		Cost: r.Cost, Now: r.Now, Deadline: r.Deadline,
	})
	w.mu.Unlock()
	if w.decided != nil {
		w.decided(r, d)
	}
}

func (w *witness) Shadowed(*pipeline.Request, pipeline.Decision) {}

func (w *witness) Released(_ *pipeline.Request, result pipeline.Result) {
	w.mu.Lock()
	w.results = append(w.results, result)
	w.mu.Unlock()
	w.released <- struct{}{}
}

func (w *witness) Fault(*pipeline.Request, int, pipeline.Fault) {}

func (w *witness) last() *pipeline.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &w.seen[len(w.seen)-1]
}

func (w *witness) outcomes() (list []pipeline.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.results {
		list = append(list, r.Outcome)
	}
	return list
}

func newPipeline(t testing.TB, o pipeline.Observer, entries ...pipeline.Entry) *pipeline.Pipeline {
	t.Helper()
	plan, err := pipeline.NewPlan(entries...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func protect(t testing.TB, c httpmw.Config, p *pipeline.Pipeline) *httpmw.Middleware {
	t.Helper()
	m, err := httpmw.New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// one is a pipeline of one stage, by the name of its kind.
func one(t testing.TB, o pipeline.Observer, kind string, s pipeline.Stage) *pipeline.Pipeline {
	return newPipeline(t, o, pipeline.Entry{Name: kind + "-1", Kind: kind, Stage: s})
}

func tokens(t testing.TB, name string, r limit.Rate, burst int64) *store.Limit {
	t.Helper()
	l, err := store.NewTokens(name, store.TokenBucket, r, burst)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pipes is a listener whose connections are net.Pipe, so that a server and its
// clients live in one bubble of testing/synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return pipeAddr{} }

func (l *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- addressed{server}:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "192.0.2.1:1234" }

// addressed is a pipe that comes from somewhere.
type addressed struct{ net.Conn }

func (addressed) RemoteAddr() net.Addr { return pipeAddr{} }

// service is a server in a bubble, with a client.
type service struct {
	server *http.Server
	pipes  *pipes
	client *http.Client
	done   chan struct{}
}

func start(h http.Handler) *service {
	s := &service{pipes: newPipes(), done: make(chan struct{}), server: &http.Server{Handler: h, ErrorLog: silent}}
	s.client = &http.Client{Transport: &http.Transport{DialContext: s.pipes.dial, ExpectContinueTimeout: time.Second}}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(s.pipes)
	}()
	return s
}

func (s *service) stop() {
	s.client.CloseIdleConnections()
	_ = s.server.Close()
	<-s.done
}
