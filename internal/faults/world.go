package faults

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// World is what a row runs on: servers, and the ways to them.
type World struct {
	// Servers are those that hold the state.
	Servers []*redistest.Server
	// Proxy is on the worker's way to the first server, or nil.
	Proxy *redistest.Proxy
	// Worker and Auditor say how the worker and who counts afterwards reach the
	// servers. The auditor's way is never broken.
	Worker, Auditor redisstore.Config

	fault   time.Duration    // how long the fault is to last
	calm    func()           // ends a fault that is a loop
	between *redistest.Proxy // on the way from the replica to its master, or nil
	ends    []func()
}

// Server is the first one.
func (w *World) Server() *redistest.Server { return w.Servers[0] }

// lasts is how long a fault lasts that ends by itself: long enough to be noticed.
func (w *World) lasts() time.Duration { return max(w.fault, 1500*time.Millisecond) }

// End ends all that the world started.
func (w *World) End() {
	for i := len(w.ends) - 1; i >= 0; i-- {
		w.ends[i]()
	}
}

// do runs an administrator's command on the first server.
func (w *World) do(ctx context.Context, args ...any) error {
	return w.Server().Admin.Do(ctx, args...).Err()
}

// add starts a server.
func (w *World) add(ctx context.Context, c redistest.Config) (*redistest.Server, error) {
	s, err := redistest.New(c)
	if err != nil {
		return nil, err
	}
	w.ends = append(w.ends, s.End)
	if err := s.Launch(ctx); err != nil {
		return nil, err
	}
	if !c.Sentinel {
		w.Servers = append(w.Servers, s)
	}
	return s, nil
}

// direct is one server that the worker speaks to directly.
func direct(args ...string) func(context.Context) (*World, error) {
	return func(ctx context.Context) (*World, error) {
		w := &World{}
		s, err := w.add(ctx, redistest.Config{TCP: true, Args: args})
		if err != nil {
			return w, err
		}
		w.Worker.Addrs, w.Auditor.Addrs = []string{s.Addr}, []string{s.Socket}
		return w, nil
	}
}

// proxied is one server with a proxy before it.
func proxied(ctx context.Context) (*World, error) {
	w, err := direct()(ctx)
	if err != nil {
		return w, err
	}
	return w, w.interpose(w.Server().Socket)
}

// interpose puts a proxy on the worker's way.
func (w *World) interpose(address string) (err error) {
	w.Proxy, err = redistest.NewProxy(address)
	if err != nil {
		return err
	}
	w.ends = append(w.ends, w.Proxy.Close)
	w.Worker.Addrs = []string{w.Proxy.Addr()}
	return nil
}

// commands are steps that are administrator's commands, one after another.
func commands(list ...[]any) func(context.Context, *World) error {
	return func(ctx context.Context, w *World) error {
		var errs []error
		for _, args := range list {
			errs = append(errs, w.do(ctx, args...))
		}
		return errors.Join(errs...)
	}
}
