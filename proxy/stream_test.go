package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Each event arrives before the next one is sent.
func TestEventsAreFlushedAtOnce(t *testing.T) {
	watchGoroutines(t)
	next := make(chan string)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		for event := range next {
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	s, _ := front(t, backend.URL)
	res, err := newClient(t, nil).Do(request(t, "GET", "http://"+s.address+"/?type=text/event-stream", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for i := range 5 {
		event := fmt.Sprintf("data: %d\n", i)
		next <- event
		if got, err := lines.ReadString('\n'); got != event {
			t.Fatalf("read %q, %v; want %q", got, err, event)
		}
	}
	close(next)
}

func TestTrailersPassBothWays(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Announced")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("X-Announced", r.Trailer.Get("X-Sum"))
		w.Header().Set(http.TrailerPrefix+"X-Late", r.Trailer.Get("X-Caller-Id")+"late")
	})
	s, _ := front(t, backend.URL)
	raw := talk(t, s.address, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 42\r\nX-Caller-Id: smuggled\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body := rest(res.Body); body != "body" || res.Trailer.Get("X-Announced") != "42" {
		t.Errorf("body %q, trailers %v", body, res.Trailer)
	}
	if late := res.Trailer.Get("X-Late"); late != "late" {
		t.Errorf("unannounced trailers: the backend saw and sent %q", late)
	}
}

func TestWebSocket(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, message, err := c.Read(r.Context())
			if err != nil {
				return
			}
			_ = c.Write(r.Context(), kind, append([]byte("echo "), message...))
		}
	})
	for name, c := range map[string]ServerConfig{"plain": {}, "TLS": {TLS: newCertificate(t, "a.test")}} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c, newProxy(t, Config{Upstream: backend.URL}))
			scheme := map[string]string{"plain": "ws://", "TLS": "wss://"}[name]
			socket, _, err := websocket.Dial(t.Context(), scheme+s.address, &websocket.DialOptions{HTTPClient: newClient(t, nil)})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := socket.Write(t.Context(), websocket.MessageText, []byte("hello\n\nContent-Length: 1\nTransfer-Encoding: chunked\n\n")); err != nil {
					t.Fatal(err)
				}
				if _, message, err := socket.Read(t.Context()); err != nil || !strings.HasPrefix(string(message), "echo hello\n\nContent") {
					t.Fatalf("read %q, %v", message, err)
				}
			}
			if err := socket.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// upgradable switches to a protocol of lines and gives the connection to play.
func upgradable(t *testing.T, play func(c net.Conn, r *bufio.Reader)) string {
	return rawBackend(t, func(c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			play(c, r)
		}
	})
}

// upgrade opens a connection and switches it.
func upgrade(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := dial(t, address)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("no upgrade: %v, %v", res, err)
	}
	return c, r
}

// The end of one direction passes, and the other goes on.
func TestUpgradedHalfClose(t *testing.T) {
	watchGoroutines(t)
	upstream := upgradable(t, func(c net.Conn, r *bufio.Reader) {
		all, _ := io.ReadAll(r) // ends when the client has closed its half
		fmt.Fprintf(c, "got %d bytes", len(all))
	})
	s, _ := front(t, upstream)
	c, r := upgrade(t, s.address)
	_, _ = io.WriteString(c, smuggling[0].stream) // is no request here
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := rest(r); got != fmt.Sprintf("got %d bytes", len(smuggling[0].stream)) {
		t.Errorf("read %q", got)
	}
}

func TestUpgradedHalfCloseOfUpstream(t *testing.T) {
	watchGoroutines(t)
	late := make(chan string, 1)
	s, _ := front(t, upgradable(t, func(c net.Conn, r *bufio.Reader) {
		_ = c.(*net.TCPConn).CloseWrite()
		late <- rest(r)
	}))
	c, r := upgrade(t, s.address)
	if got := rest(r); got != "" {
		t.Errorf("read %q", got)
	}
	_, _ = io.WriteString(c, "late")
	_ = c.Close()
	if got := soon(t, "the upstream reads to the end", late); got != "late" {
		t.Errorf("the upstream read %q", got)
	}
}

func TestUpgradedEndsWithUpstream(t *testing.T) {
	watchGoroutines(t)
	s, _ := front(t, upgradable(t, func(c net.Conn, r *bufio.Reader) { _, _ = r.ReadString('\n') }))
	c, r := upgrade(t, s.address)
	_, _ = io.WriteString(c, "bye\n")
	if got := rest(r); got != "" {
		t.Errorf("read %q", got)
	}
}

func TestUpgradedSilenceEnds(t *testing.T) {
	watchGoroutines(t)
	gone := make(chan struct{})
	upstream := upgradable(t, func(c net.Conn, r *bufio.Reader) {
		_, _ = io.Copy(io.Discard, r)
		close(gone)
	})
	p := newProxy(t, Config{Upstream: upstream, Timeouts: Timeouts{Upgraded: 50 * time.Millisecond}})
	s := serve(t, ServerConfig{}, p)
	_, r := upgrade(t, s.address)
	if got := rest(r); got != "" {
		t.Errorf("read %q", got)
	}
	soon(t, "the upstream's connection ends", gone)
}

// An upstream that has closed its half does not let the client hang on for
// ever.
func TestUpgradedHalfClosedSilenceEnds(t *testing.T) {
	watchGoroutines(t)
	p := newProxy(t, Config{Upstream: upgradable(t, func(net.Conn, *bufio.Reader) {}), Timeouts: Timeouts{Upgraded: 50 * time.Millisecond}})
	s := serve(t, ServerConfig{}, p)
	_, r := upgrade(t, s.address)
	if got := rest(r); got != "" {
		t.Errorf("read %q", got)
	}
	eventually(t, "the connection is closed", func() bool { return s.Stats().Open == 0 })
}

// What a client sends before it knows of the upgrade is part of the tunnel.
func TestUpgradedEarlyBytes(t *testing.T) {
	watchGoroutines(t)
	s, _ := front(t, upgradable(t, func(c net.Conn, r *bufio.Reader) {
		line, _ := r.ReadString('\n')
		_, _ = io.WriteString(c, "got "+line)
	}))
	answer := talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly\n")
	if !strings.HasSuffix(answer, "got early\n") {
		t.Errorf("read %q", answer)
	}
}

func TestUnaskedUpgradeIsRefused(t *testing.T) {
	watchGoroutines(t)
	s, p := front(t, upgradable(t, func(net.Conn, *bufio.Reader) {}))
	for _, ask := range []string{"", "Connection: Upgrade\r\nUpgrade: h2c\r\n"} {
		if answer := talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+ask+"\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 502") {
			t.Errorf("answered %q to %q", answer, ask)
		}
	}
	if f := failures(p); f[Broken] != 2 {
		t.Errorf("failures %v", f)
	}
}

// The client is told to go on only when the upstream says so.
func TestContinueIsTheUpstreams(t *testing.T) {
	watchGoroutines(t)
	var read atomic.Int64
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			http.Error(w, "no", http.StatusExpectationFailed)
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		read.Add(n)
	})
	s, _ := front(t, backend.URL)
	ask := func(path string) (net.Conn, *bufio.Reader, *http.Response) {
		c := dial(t, s.address)
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", path)
		r := bufio.NewReader(c)
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, r, res
	}
	c, r, res := ask("/take")
	if res.StatusCode != http.StatusContinue || read.Load() != 0 {
		t.Errorf("answered %d after %d bytes", res.StatusCode, read.Load())
	}
	_, _ = io.WriteString(c, "body")
	if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != 200 || read.Load() != 4 {
		t.Errorf("then %v, %v after %d bytes", res, err, read.Load())
	}
	if _, _, res := ask("/refuse"); res.StatusCode != http.StatusExpectationFailed {
		t.Errorf("answered %d, want the upstream's refusal and no leave to go on", res.StatusCode)
	}
}

// statuses are what was written to a client.
type statuses struct {
	*httptest.ResponseRecorder
	all []int
}

func (s *statuses) WriteHeader(status int) {
	s.all = append(s.all, status)
	s.ResponseRecorder.WriteHeader(status)
}

// The upstream's leave is the reading of the body, which makes the server give
// its own: to pass it on too would give two, when the first comes late.
func TestLeaveIsGivenOnce(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	p, err := New(Config{Upstream: backend.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer p.CloseIdleConnections()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/take", strings.NewReader("body"))
	r.Header.Set("Expect", "100-continue")
	w := &statuses{ResponseRecorder: httptest.NewRecorder()}
	if p.ServeHTTP(w, r); !slices.Equal(w.all, []int{http.StatusOK}) {
		t.Errorf("written %v, want 200 alone", w.all)
	}
}

func TestEarlyHintsPass(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	})
	s, _ := front(t, backend.URL)
	if answer := talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 204") {
		t.Errorf("answered %q", answer)
	}
}

// endless yields n bytes without holding them.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	n := min(int64(len(p)), e.n)
	if e.n -= n; n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

// 64 MB there and back take far less than that in memory.
func TestLargeBodiesAreNotHeld(t *testing.T) {
	watchGoroutines(t)
	const size = 64 << 20
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = io.Copy(w, &endless{n})
	})
	s, _ := front(t, backend.URL)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := newClient(t, nil).Do(request(t, "POST", "http://"+s.address, &endless{size}))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); n != size || err != nil {
		t.Errorf("%d bytes came back, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > size/8 {
		t.Errorf("%d bytes were allocated for %d bytes each way", took, size)
	}
}

// An answer that comes while the client is still sending reaches it, though
// nobody reads what it sends.
func TestEarlyAnswerToLargeUpload(t *testing.T) {
	watchGoroutines(t)
	for name, drain := range map[string]bool{"and goes on reading": true, "and closes": false} {
		t.Run(name, func(t *testing.T) {
			upstream := rawBackend(t, func(c net.Conn, r *bufio.Reader) {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
				if drain {
					_, _ = io.Copy(io.Discard, r)
				}
			})
			s, p := front(t, upstream)
			res, err := newClient(t, nil).Do(request(t, "POST", "http://"+s.address, &endless{32 << 20}))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if body := rest(res.Body); res.StatusCode != 413 && (drain || res.StatusCode != 502) {
				t.Errorf("answered %d %q, failures %v", res.StatusCode, body, failures(p))
			}
		})
	}
}
