package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server receives requests. Make one with NewServer; it serves once.
type Server struct {
	config      ServerConfig
	handler     http.Handler
	tls         *tls.Config  // nil: plain
	certificate *certificate // nil: plain
	counts      serverCounts
	intake      atomic.Pointer[intake]
}

type serverCounts struct {
	malformed, handshakes, accepts, full, floods atomic.Uint64
}

// NewServer prepares a server of a handler. The error names every fault of the
// configuration and of the files that it names.
func NewServer(c ServerConfig, handler http.Handler) (*Server, error) {
	c, faults := c.withDefaults()
	s := &Server{config: c, handler: handler}
	if handler == nil {
		faults = errors.Join(faults, errors.New("the handler is missing"))
	}
	if faults == nil && c.TLS.wanted() {
		s.certificate = &certificate{files: c.TLS, log: c.Log}
		s.tls, faults = s.certificate.server()
	}
	if faults != nil {
		return nil, fmt.Errorf("proxy: server configuration: %w", faults)
	}
	return s, nil
}

// Serve serves a listener until the context ends, and then drains: it accepts
// no more, tells clients to go elsewhere, and lets what is in flight finish
// within the grace. It returns nil when all did, and an error that says how
// many connections were cut when not, or why it could not serve. It closes the
// listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	in := newIntake(l, s)
	if !s.intake.CompareAndSwap(nil, in) {
		return errors.New("proxy: serve: a Server serves once")
	}
	base, cut := context.WithCancel(context.WithoutCancel(ctx)) // requests outlive the signal to stop
	defer cut()
	server := s.httpServer(in, base)
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(in.run)
	if s.certificate != nil {
		background.Go(func() { s.certificate.follow(in.stopping) })
	}
	failed := make(chan error, 1)
	background.Go(func() { failed <- server.Serve(in) })
	if s.config.Ready != nil {
		s.config.Ready()
	}
	select {
	case <-ctx.Done():
		return s.drain(base, server, in)
	case err := <-failed:
		return errors.Join(fmt.Errorf("proxy: serve %s: %w", l.Addr(), err), s.drain(base, server, in))
	}
}

// drain waits for what is in flight, at most the grace, and cuts the rest.
func (s *Server) drain(ctx context.Context, server *http.Server, in *intake) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Grace)
	defer cancel()
	_ = server.Shutdown(ctx) // an error is the end of the grace, which the count tells
	in.wait(ctx)             // upgraded connections are not the http.Server's any more
	left := in.cut()
	_ = server.Close()
	if left > 0 {
		return fmt.Errorf("proxy: drain: %d connections cut after %v", left, s.config.Grace)
	}
	return nil
}

func (s *Server) httpServer(in *intake, base context.Context) *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		TLSConfig:         s.tls.Clone(),
		ReadHeaderTimeout: s.config.ReadHeaderTimeout,
		ReadTimeout:       s.config.ReadTimeout,
		WriteTimeout:      s.config.WriteTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		MaxHeaderBytes:    s.config.MaxHeaderBytes,
		ConnState:         in.note,
		ErrorLog:          newNoise(s.config.Log),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConn,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: s.config.MaxStreams,
			MaxReadFrameSize:     64 << 10,
			SendPingTimeout:      30 * time.Second,
			PingTimeout:          15 * time.Second,
			WriteByteTimeout:     s.config.WriteSilence,
		},
		Protocols: protocols(func(p *http.Protocols) {
			p.SetHTTP1(true)
			p.SetHTTP2(s.tls != nil)
			p.SetUnencryptedHTTP2(s.config.H2C)
		}),
	}
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, beneath(c))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == "PRI": // HTTP/2 by prior knowledge, where it is not spoken
		BadRequest.write(w, r)
	case r.ProtoMajor == 2:
		s.serveStream(w, r, r.Context().Value(connKey{}).(*conn))
	default:
		s.handler.ServeHTTP(w, r)
	}
}

// Reload reads the files of the certificate again, now. A server without TLS
// has nothing to read.
func (s *Server) Reload() error {
	if s.certificate == nil {
		return nil
	}
	return s.certificate.load()
}

// ServerStats is what a server has met. Counts are since its start.
type ServerStats struct {
	Open       int    // connections that are open now
	Malformed  uint64 // messages whose end was not certain; refused
	Handshakes uint64 // TLS handshakes that failed
	Accepts    uint64 // failures to accept
	Full       uint64 // times that a connection found no room at once
	Floods     uint64 // connections closed for cancelling requests
}

// Stats returns what the server has met.
func (s *Server) Stats() ServerStats {
	stats := ServerStats{
		Malformed:  s.counts.malformed.Load(),
		Handshakes: s.counts.handshakes.Load(),
		Accepts:    s.counts.accepts.Load(),
		Full:       s.counts.full.Load(),
		Floods:     s.counts.floods.Load(),
	}
	if in := s.intake.Load(); in != nil {
		stats.Open = in.size()
	}
	return stats
}
