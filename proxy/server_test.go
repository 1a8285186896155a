package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func respond(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestServerConfigurationFaults(t *testing.T) {
	_, err := NewServer(ServerConfig{
		ReadHeaderTimeout: -1, ReadTimeout: -1, WriteTimeout: -1, BodySilence: 1, WriteSilence: 1, IdleTimeout: 1, Grace: 2 * time.Hour,
		MaxHeaderBytes: 1, MaxConns: -1, MaxStreams: -1, MaxResets: -1, TLS: ServerTLS{CertFile: "a", ClientCAFile: "b"},
	}, nil)
	for _, part := range []string{"ReadHeaderTimeout", "ReadTimeout", "WriteTimeout", "BodySilence", "WriteSilence", "IdleTimeout", "Grace",
		"MaxHeaderBytes", "MaxConns", "MaxStreams", "MaxResets", "TLS.KeyFile", "handler"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not among the faults: %v", part, err)
		}
	}
	for _, files := range []ServerTLS{{ClientCAFile: "a"}, {CertFile: "missing", KeyFile: "missing"}} {
		if _, err := NewServer(ServerConfig{TLS: files}, respond("")); err == nil {
			t.Errorf("%v is taken", files)
		}
	}
}

func TestConnsForFiles(t *testing.T) {
	for files, want := range map[uint64]int{0: 10_000, 1 << 62: 10_000, 20_065: 10_000, 1024: 480, 66: 1, 3: 1} {
		if got := connsForFiles(files); got != want {
			t.Errorf("%d files leave %d connections, want %d", files, got, want)
		}
	}
}

// memoryListener hands out the server's ends of pipes.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error { l.once.Do(func() { close(l.done) }); return nil }

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (l *memoryListener) dial() net.Conn {
	near, far := net.Pipe()
	l.conns <- far
	return near
}

// serveInMemory runs a server in a bubble of virtual time.
func serveInMemory(t *testing.T, c ServerConfig, handler http.Handler) (*memoryListener, *Server, func()) {
	t.Helper()
	s, err := NewServer(c, handler)
	if err != nil {
		t.Fatal(err)
	}
	l := newMemoryListener()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(ctx, l)
	}()
	return l, s, func() { cancel(); <-ended }
}

// Clients that open connections and send a byte of a header now and then, or
// none, are gone when the time for the header is over, all of them.
func TestSlowloris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s, stop := serveInMemory(t, ServerConfig{}, respond(""))
		start := time.Now()
		var clients sync.WaitGroup
		for i := range 300 {
			c := l.dial()
			clients.Go(func() {
				defer c.Close()
				if i%2 == 0 {
					_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
					clients.Go(func() { drip(c, 100, "X: y\r\n", time.Second) })
				}
				_, _ = io.Copy(io.Discard, c)
			})
		}
		clients.Wait()
		if took := time.Since(start); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("the clients were held for %v, want 5s", took)
		}
		synctest.Wait()
		if open := s.Stats().Open; open != 0 {
			t.Errorf("%d connections are open", open)
		}
		stop()
	})
}

// drip writes a text again and again, until the other end has closed.
func drip(c net.Conn, times int, text string, every time.Duration) {
	for range times {
		<-time.After(every)
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, stop := serveInMemory(t, ServerConfig{}, respond(""))
		c := l.dial()
		start := time.Now()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		if took := time.Since(start); took != 2*time.Minute {
			t.Errorf("idle for %v", took)
		}
		stop()
	})
}

// A body that comes slowly is waited for, one that stands still is not; nor is
// the handler disturbed that works on after the body has come.
func TestBodySilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := make(chan error, 2)
		l, _, stop := serveInMemory(t, ServerConfig{}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(10 * time.Minute): // longer than any silence
			case <-r.Context().Done():
				err = errors.Join(err, r.Context().Err())
			}
			bodies <- err
		}))
		for chunks, want := range map[int]bool{20: true, 10: false} {
			c := l.dial()
			go func() {
				_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n")
				drip(c, chunks, "a", 20*time.Second)
			}()
			go func() { _, _ = io.Copy(io.Discard, c) }()
			if err := <-bodies; (err == nil) != want {
				t.Errorf("after %d of 20 bytes: %v", chunks, err)
			}
			_ = c.Close()
		}
		stop()
	})
}

// A body that follows at once is watched like the first one.
func TestBodySilenceOfNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := make(chan error, 1)
		l, _, stop := serveInMemory(t, ServerConfig{}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			bodies <- err
		}))
		c := l.dial()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		for _, body := range []string{"whole", "half"} {
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
			<-time.After(time.Second)
			_, _ = io.WriteString(c, body)
			if err := <-bodies; (err == nil) != (body == "whole") {
				t.Errorf("%s body: %v", body, err)
			}
		}
		stop()
	})
}

// A client that takes nothing of its answer is given up.
func TestWriteSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan error, 1)
		l, _, stop := serveInMemory(t, ServerConfig{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.Copy(w, &endless{1 << 30})
			written <- err
		}))
		c := l.dial()
		start := time.Now()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		for range 10 { // slowly, at first
			<-time.After(20 * time.Second)
			_, _ = io.ReadFull(c, make([]byte, 1<<14))
		}
		if err := <-written; err == nil || time.Since(start) > 4*time.Minute {
			t.Errorf("gave up after %v: %v", time.Since(start), err)
		}
		stop()
	})
}

func TestHeaderTooLarge(t *testing.T) {
	watchGoroutines(t)
	s := serve(t, ServerConfig{}, respond(""))
	if answer := talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", 40<<10)+"\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 431") {
		t.Errorf("answered %.80q", answer)
	}
	if answer := talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: "+strings.Repeat("a", 30<<10)+"\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Errorf("answered %.80q", answer)
	}
}

// inFlight is a handler that tells of each request and holds it until told.
type inFlight struct {
	started chan *http.Request
	finish  chan struct{}
}

func newInFlight() *inFlight {
	return &inFlight{make(chan *http.Request, 100), make(chan struct{})}
}

// ServeHTTP implements http.Handler.
func (f *inFlight) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.started <- r
	select {
	case <-f.finish:
		_, _ = io.WriteString(w, "finished")
	case <-r.Context().Done():
	}
}

// What is in flight finishes, and nothing new begins.
func TestDrain(t *testing.T) {
	watchGoroutines(t)
	handler := newInFlight()
	s := serve(t, ServerConfig{}, handler)
	idle := dial(t, s.address)
	busy := dial(t, s.address)
	_, _ = io.WriteString(busy, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	r := soon(t, "the request starts", handler.started)
	s.stop()
	eventually(t, "nothing new is accepted", func() bool {
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	if err := r.Context().Err(); err != nil {
		t.Errorf("the request in flight was cancelled: %v", err)
	}
	close(handler.finish)
	res, err := http.ReadResponse(bufio.NewReader(busy), nil)
	if err != nil || !res.Close || rest(res.Body) != "finished" {
		t.Errorf("answered %v, %v", res, err)
	}
	_ = idle.Close()
	if err := soon(t, "the server ends", s.ended); err != nil {
		t.Error(err)
	}
	s.ended <- nil // for the cleanup
}

// What does not finish within the grace is cut, upgraded connections too.
func TestDrainCuts(t *testing.T) {
	watchGoroutines(t)
	handler, taken := newInFlight(), make(chan struct{})
	p := newProxy(t, Config{Upstream: upgradable(t, func(c net.Conn, r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) })})
	mux := http.NewServeMux()
	mux.Handle("/busy", handler)
	mux.HandleFunc("/taken", func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); err != nil {
			t.Error(err)
		}
		close(taken)
	})
	mux.Handle("/", p)
	s := serve(t, ServerConfig{Grace: 100 * time.Millisecond}, mux)
	busy := dial(t, s.address)
	_, _ = io.WriteString(busy, "GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
	r := soon(t, "the request starts", handler.started)
	_, upgraded := upgrade(t, s.address)
	abandoned := dial(t, s.address)
	_, _ = io.WriteString(abandoned, "GET /taken HTTP/1.1\r\nHost: x\r\n\r\n")
	soon(t, "the connection is taken", taken)
	s.stop()
	err := soon(t, "the server ends", s.ended)
	if err == nil || !strings.Contains(err.Error(), "3 connections cut after 100ms") {
		t.Errorf("ended with %v", err)
	}
	soon(t, "the request in flight is cancelled", r.Context().Done())
	for _, c := range []io.Reader{upgraded, abandoned} {
		if n, err := io.Copy(io.Discard, c); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes, %v, want the end", n, err)
		}
	}
	s.ended <- nil // for the cleanup
}

func TestUpgradedConnectionsFinishInTheGrace(t *testing.T) {
	watchGoroutines(t)
	s, _ := front(t, upgradable(t, func(c net.Conn, r *bufio.Reader) {
		line, _ := r.ReadString('\n')
		_, _ = io.WriteString(c, line)
	}))
	c, r := upgrade(t, s.address)
	s.stop()
	_, _ = io.WriteString(c, "bye\n")
	if got := rest(r); got != "bye\n" {
		t.Errorf("read %q", got)
	}
	_ = c.Close()
	if err := soon(t, "the server ends", s.ended); err != nil {
		t.Error(err)
	}
	s.ended <- nil // for the cleanup
}

func TestServesOnce(t *testing.T) {
	s := serve(t, ServerConfig{}, respond(""))
	_ = talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if err := s.Serve(t.Context(), newMemoryListener()); err == nil {
		t.Error("served twice")
	}
}

func TestReady(t *testing.T) {
	ready := make(chan struct{})
	serve(t, ServerConfig{Ready: func() { close(ready) }}, respond(""))
	soon(t, "ready", ready)
}

// failing is a listener that fails some times before it accepts.
type failing struct {
	net.Listener
	left atomic.Int64
}

func (l *failing) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// Too many open files end by themselves: the server waits, longer each time,
// and goes on.
func TestAcceptFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(ServerConfig{}, respond("here"))
		if err != nil {
			t.Fatal(err)
		}
		memory := newMemoryListener()
		l := &failing{Listener: memory}
		l.left.Store(12)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, l) }()
		start := time.Now()
		c := memory.dial()
		if took := time.Since(start); took < 4*time.Second || took > 10*time.Second {
			t.Errorf("accepted after %v", took)
		}
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if answer := rest(c); !strings.HasSuffix(answer, "here") || s.Stats().Accepts != 12 {
			t.Errorf("answered %q after %d failures", answer, s.Stats().Accepts)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestListenerClosedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(ServerConfig{}, respond(""))
		if err != nil {
			t.Fatal(err)
		}
		l := newMemoryListener()
		_ = l.Close()
		if err := s.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
	})
}

// idle counts the connections that serve nothing.
func (r *running) idle() (n int) {
	in := r.intake.Load()
	in.mu.Lock()
	defer in.mu.Unlock()
	for c := range in.open {
		if c.idleSince.Load() != 0 {
			n++
		}
	}
	return n
}

// At the bound an idle connection makes room, and a busy one does not.
func TestConnectionBound(t *testing.T) {
	watchGoroutines(t)
	handler := newInFlight()
	mux := http.NewServeMux()
	mux.Handle("/busy", handler)
	mux.Handle("/", respond("quick"))
	s := serve(t, ServerConfig{MaxConns: 2}, mux)
	idle, busy := dial(t, s.address), dial(t, s.address)
	_, _ = io.WriteString(idle, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReader(idle), nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection is idle", func() bool { return s.idle() == 1 })
	_, _ = io.WriteString(busy, "GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
	soon(t, "the request starts", handler.started)
	if answer := talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasSuffix(answer, "quick") {
		t.Errorf("the third connection got %q", answer)
	}
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection is open: %v", err)
	}
	busy2 := dial(t, s.address)
	_, _ = io.WriteString(busy2, "GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
	soon(t, "the second request starts", handler.started)
	waiting := make(chan string)
	go func() {
		waiting <- talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	}()
	eventually(t, "the next one waits", func() bool { return s.Stats().Full == 2 })
	close(handler.finish) // the busy ones become idle, and one of them goes
	if answer := soon(t, "the next one is served", waiting); !strings.HasSuffix(answer, "quick") {
		t.Errorf("the next connection got %q", answer)
	}
	if open := s.Stats().Open; open > 2 {
		t.Errorf("%d connections are open, want at most 2", open)
	}
}

func TestHandlerSeesConnection(t *testing.T) {
	s := serve(t, ServerConfig{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Context().Value(http.LocalAddrContextKey))
	}))
	if answer := talk(t, s.address, "GET / HTTP/1.0\r\n\r\n"); !strings.HasSuffix(answer, s.address) {
		t.Errorf("answered %q", answer)
	}
}
