package config

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// ProtectConfig sets what no file says. The zero value is usable.
type ProtectConfig struct {
	// Observer is told of every decision. Nil: nobody is.
	Observer pipeline.Observer
	// Log is for what an operator should read. Nil: nothing is logged.
	Log *slog.Logger
}

// Protection is a pipeline and its middleware, run by a file that may change.
// All methods may be called concurrently.
type Protection struct {
	pipeline   *pipeline.Pipeline
	middleware *httpmw.Middleware

	mu      sync.Mutex // one change at a time
	current atomic.Pointer[Built]
}

// Protect makes what a file says. It starts nothing: Run does the background
// work, beside the server.
func Protect(f *File, c ProtectConfig) (*Protection, error) {
	b, err := Build(f, nil)
	if err != nil {
		return nil, err
	}
	p := &Protection{}
	p.pipeline, err = pipeline.New(pipeline.Config{
		Plan: b.Plan, Store: b.Live.guard, Observer: c.Observer, Logger: c.Log,
		Parallel: []func(context.Context) error{b.Live.Run},
	})
	if err != nil {
		return nil, err
	}
	if p.middleware, err = httpmw.New(b.Middleware, p.pipeline); err != nil {
		return nil, err
	}
	b.Adopt()
	p.current.Store(b)
	return p, nil
}

// Apply makes another file the one that runs. Limits that changed keep what
// was spent of them, and nothing in flight is lost or counted twice. An error
// changes nothing. It is what WatchConfig.Apply is for.
func (p *Protection) Apply(f *File) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := Build(f, p.current.Load().Live)
	if err != nil {
		return err
	}
	if err := p.middleware.Swap(b.Middleware); err != nil {
		return err
	}
	if err := p.pipeline.Swap(b.Plan); err != nil {
		return err
	}
	b.Adopt()
	p.current.Store(b)
	return nil
}

// Wrap puts the protection around a handler.
func (p *Protection) Wrap(next http.Handler) http.Handler { return p.middleware.Wrap(next) }

// Run does the background work until the context ends: stages adapt, leases
// are renewed, the fleet hears of this worker. Call it once, in a goroutine.
func (p *Protection) Run(ctx context.Context) error { return p.pipeline.Run(ctx) }

// Pipeline is what decides.
func (p *Protection) Pipeline() *pipeline.Pipeline { return p.pipeline }

// Current is what runs now: the file, the plan, the state.
func (p *Protection) Current() *Built { return p.current.Load() }
