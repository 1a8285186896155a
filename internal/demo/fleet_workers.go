package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/internal/process"
)

// crew is the workers of a fleet, each with listeners and connections of its
// own, in front of one service that answers at once.
type crew struct {
	workers []*process.Process
	urls    []string
	client  *http.Client
	stop    func()
}

// newFleet starts the workers.
func newFleet(redis string, budget time.Duration) (f *crew, err error) {
	f = &crew{client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	backend := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = backend.Serve(service) })
	f.stop = sync.OnceFunc(func() {
		cancel()
		_ = backend.Close()
		group.Wait()
		f.client.CloseIdleConnections()
	})
	overlay := func(file *config.File) config.Errors {
		file.Upstream = config.URL("http://" + service.Addr().String())
		file.Store.Budget, file.Store.Redis.DSN = budget, config.DSN("redis://"+redis)
		return nil
	}
	for range fleetSize {
		if err := f.start(ctx, &group, overlay); err != nil {
			f.stop()
			return nil, fmt.Errorf("demo: %w", err)
		}
	}
	return f, nil
}

func (f *crew) start(ctx context.Context, group *sync.WaitGroup, overlay config.Overlay) error {
	p, err := process.New(process.Config{Text: fleetProtection, Log: io.Discard, Overlays: []config.Overlay{overlay}})
	if err != nil {
		return err
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	group.Go(func() { _ = p.Serve(ctx, listeners[0], listeners[1]) })
	f.workers, f.urls = append(f.workers, p), append(f.urls, "http://"+listeners[0].Addr().String())
	return nil
}

func (f *crew) end() { f.stop() }

// ask sends a request to the n-th worker, and returns the status; 0 for none.
func (f *crew) ask(ctx context.Context, n int, path string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.urls[n%len(f.urls)]+path, nil)
	if err != nil {
		return 0
	}
	response, err := f.client.Do(request)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// all reports whether something is true of what every worker says.
func (f *crew) all(is func(*admin.Status) bool) bool {
	for _, w := range f.workers {
		s := w.Status()
		if !is(&s) {
			return false
		}
	}
	return true
}

// fallbacks is how many decisions all workers made without the store.
func (f *crew) fallbacks() (n uint64) {
	for _, w := range f.workers {
		n += w.Status().Store.Calls.Fallback
	}
	return n
}

// state is the worst that a worker says of the store.
func (f *crew) state() string {
	worst := "ok"
	for _, w := range f.workers {
		switch s := w.Status().Store.State; {
		case s == "down", s == "degraded" && worst == "ok":
			worst = s
		}
	}
	return worst
}

// wait waits until something is true, for some seconds at most.
func wait(ctx context.Context, is func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
