package httpmw

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Middleware admits requests to handlers by a pipeline.
type Middleware struct {
	pipeline *pipeline.Pipeline
	settings atomic.Pointer[settings]
	exempt   atomic.Int64 // exempt requests that are running
}

// New makes a middleware. The error names every fault of the configuration.
func New(c Config, p *pipeline.Pipeline) (*Middleware, error) {
	if p == nil {
		return nil, errors.New("httpmw: a pipeline is needed")
	}
	m := &Middleware{pipeline: p}
	return m, m.Swap(c)
}

// Swap makes another configuration the current one. Requests that are in
// flight end under the one that they began with. A faulty configuration
// changes nothing.
func (m *Middleware) Swap(c Config) error {
	s, err := c.compile()
	if err != nil {
		return err
	}
	m.settings.Store(s)
	return nil
}

// Wrap puts the middleware around a handler.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s := m.settings.Load(); s.exempts(r) {
			m.serveExempt(s, w, r, next)
		} else {
			m.serve(s, w, r, next)
		}
	})
}

func (m *Middleware) serve(s *settings, w http.ResponseWriter, r *http.Request, next http.Handler) {
	v := visit{pipeline: m.pipeline, request: requests.Get().(*pipeline.Request)}
	defer v.end() // before Acquire: an observer may panic after the admission
	s.describe(v.request, r, m.pipeline.Now())
	if s.Tracer != nil {
		v.request.Trace = s.Tracer.Trace(r)
	}
	d := m.pipeline.Acquire(r.Context(), v.request)
	if s.Tracer != nil {
		s.Tracer.Decided(r, v.request, d)
	}
	switch d.Verdict {
	case pipeline.Admit:
		v.exchange = newExchange(m, s, v.request, w, r)
		next.ServeHTTP(v.exchange.shape(), &v.exchange.outgoing)
	case pipeline.Reject:
		s.refuse(w, r, v.request, d)
	default:
		abandon(r.Context(), w)
	}
	v.returned = true
}

// requests are pooled, for their scratch space. One goes back only when it is
// certain that nothing holds it any more.
var requests = sync.Pool{New: func() any { return new(pipeline.Request) }}

func recycle(r *pipeline.Request) {
	r.Reset()
	requests.Put(r)
}

// visit is one call of the middleware.
type visit struct {
	pipeline *pipeline.Pipeline
	request  *pipeline.Request
	exchange *exchange // nil until the request is admitted
	returned bool      // false at the end: somebody panicked
}

func (v *visit) end() {
	switch {
	case v.exchange != nil:
		v.exchange.end(v.returned)
	case v.returned:
		recycle(v.request)
	default: // not recycled, for whoever panicked may hold it
		v.pipeline.Release(v.request, pipeline.Result{Outcome: pipeline.NotRun})
	}
}

// abandon ends a request whose client is believed to be gone. If it was the
// time that had run out, somebody may still be there to read this.
func abandon(ctx context.Context, w http.ResponseWriter) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(statusClientGone)
}

// statusClientGone is what NGINX logs for a client that left. Nobody reads it
// but access logs.
const statusClientGone = 499
