package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// watchGoroutines fails a test that leaves goroutines behind. Call it first:
// it looks after all other cleanups.
func watchGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })
		if t.Failed() {
			stacks := make([]byte, 1<<20)
			t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
		}
	})
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for tick := time.NewTicker(time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("not after %v: %s", patience, what)
			return
		}
	}
}

// soon receives from a channel, or fails.
func soon[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("not after %v: %s", patience, what)
		panic("unreachable")
	}
}

// newBackend serves an upstream on loopback.
func newBackend(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// newProxy makes a proxy that closes its connections with the test.
func newProxy(t *testing.T, c Config) *Proxy {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// running is a server that runs.
type running struct {
	*Server
	address string
	stop    context.CancelFunc
	ended   chan error
}

// serve runs a server on loopback until the test ends.
func serve(t *testing.T, c ServerConfig, handler http.Handler) *running {
	t.Helper()
	s, err := NewServer(c, handler)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Server: s, address: l.Addr().String(), stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-r.ended:
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	})
	return r
}

// front serves a proxy to a backend: the whole of this package.
func front(t *testing.T, upstream string) (*running, *Proxy) {
	t.Helper()
	p := newProxy(t, Config{Upstream: upstream})
	return serve(t, ServerConfig{Grace: time.Second}, p), p
}

// dial opens a raw connection.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// talk writes bytes to a new connection and reads until the other end closes.
func talk(t *testing.T, address, text string) string {
	t.Helper()
	c := dial(t, address)
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("%v after %q", err, answer)
	}
	return string(answer)
}

// get reads a whole answer.
func get(t *testing.T, client *http.Client, r *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// request makes a request that ends with the test.
func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newClient is a client with connections of its own.
func newClient(t *testing.T, change func(*http.Transport)) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if change != nil {
		change(transport)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// rawBackend answers each connection with a function.
func rawBackend(t *testing.T, answer func(c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				answer(c, bufio.NewReader(c))
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// counting counts the requests that reach a handler.
type counting struct {
	http.Handler
	seen atomic.Int64
}

// ServeHTTP implements http.Handler.
func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.seen.Add(1)
	c.Handler.ServeHTTP(w, r)
}

// failures returns the failures that were counted.
func failures(p *Proxy) map[Failure]uint64 {
	found := make(map[Failure]uint64)
	for f, n := range p.Failures() {
		if n > 0 {
			found[f] = n
		}
	}
	return found
}
