package observe

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/examples/payments/service"
	"github.com/plimsoll-go/plimsoll/internal/process"
	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

//go:embed worker.yaml
var protection []byte

//go:embed alone.yaml
var alone []byte

// size is how many workers are in the fleet; one more is in none.
const size = 3

// Stand is the workers, what is behind them, and what breaks it.
type Stand struct {
	Workers []*process.Process
	Public  []string // their URLs
	Admin   []string // host:port of their listeners for operators

	dir      string
	files    []string           // of the workers' configurations
	ways     []*redistest.Proxy // to Redis, one for each worker
	redis    *redistest.Server
	payments *service.Service
	broken   atomic.Bool // the service behind hangs up
	stop     context.CancelFunc
	running  sync.WaitGroup
	ended    []func()
}

// Start starts a Redis, a service that can do 75 requests a second, and the
// workers in front of it. Close must follow when there is no error.
func Start(ctx context.Context) (*Stand, error) {
	redisstore.Silence()
	ctx, stop := context.WithCancel(ctx)
	s := &Stand{stop: stop}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stand) start(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "plimsoll-observe"); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	s.ended = append(s.ended, func() { _ = os.RemoveAll(s.dir) })
	if s.redis, err = redistest.New(redistest.Config{}); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	s.ended = append(s.ended, s.redis.End)
	if err := s.redis.Launch(ctx); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	if s.payments, err = service.New(service.Config{Connections: 6, Query: 80 * time.Millisecond}); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	s.ended = append(s.ended, s.payments.Close)
	upstream, err := s.serve(http.HandlerFunc(s.answer))
	if err != nil {
		return err
	}
	for range size {
		if err := s.startMember(ctx, upstream); err != nil {
			return err
		}
	}
	return s.startWorker(ctx, alone, func(f *config.File) config.Errors {
		f.Upstream = config.URL("http://" + upstream)
		return nil
	})
}

// answer is the service behind, as long as it is there.
func (s *Stand) answer(w http.ResponseWriter, r *http.Request) {
	if s.broken.Load() {
		panic(http.ErrAbortHandler)
	}
	s.payments.ServeHTTP(w, r)
}

// serve lets a handler answer on a free port until Close.
func (s *Stand) serve(handler http.Handler) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("observe: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	s.running.Go(func() { _ = server.Serve(l) })
	s.ended = append(s.ended, func() { _ = server.Close() })
	return l.Addr().String(), nil
}

// startMember starts a worker of the fleet, with a way of its own to Redis.
func (s *Stand) startMember(ctx context.Context, upstream string) error {
	way, err := redistest.NewProxy(s.redis.Socket)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	s.ways, s.ended = append(s.ways, way), append(s.ended, way.Close)
	return s.startWorker(ctx, protection, func(f *config.File) config.Errors {
		f.Upstream, f.Store.Redis.DSN = config.URL("http://"+upstream), config.DSN("redis://"+way.Addr())
		return nil
	})
}

func (s *Stand) startWorker(ctx context.Context, text []byte, overlay config.Overlay) error {
	path := filepath.Join(s.dir, fmt.Sprintf("worker-%d.yaml", len(s.Workers)+1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	p, err := process.New(process.Config{Path: path, Log: io.Discard, Version: "v0", Overlays: []config.Overlay{overlay}})
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
	}
	s.running.Go(func() { _ = p.Serve(ctx, listeners[0], listeners[1]) })
	s.Workers, s.files = append(s.Workers, p), append(s.files, path)
	s.Public, s.Admin = append(s.Public, "http://"+listeners[0].Addr().String()), append(s.Admin, listeners[1].Addr().String())
	return nil
}

// Close ends everything, and waits for it.
func (s *Stand) Close() {
	for _, way := range s.ways {
		way.Pass()
	}
	s.stop()
	for i := len(s.ended) - 1; i >= 1; i-- { // the folder last
		s.ended[i]()
	}
	s.running.Wait()
	if len(s.ended) > 0 {
		s.ended[0]()
	}
}

// ErrNoServer says that a program that is needed is not installed.
var ErrNoServer = errors.New("observe: prometheus is not in PATH: install it (apt-get install prometheus, brew install prometheus) and try again")
