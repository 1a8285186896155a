package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a proxy whose upstream is a function on the other end of a pipe, so
// that a test can run in virtual time.
func piped(t *testing.T, timeouts Timeouts, upstream func(c net.Conn)) *Proxy {
	p, err := New(Config{Upstream: "http://upstream", Timeouts: timeouts, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			upstream(far)
		}()
		return near, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask forwards one request and returns the answer.
func ask(p *Proxy, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// checkProblem: the answer is a problem document and says nothing of the inside.
func checkProblem(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	var problem struct {
		Type, Title, Detail string
		Status              int
	}
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
		t.Errorf("%v in %q", err, w.Body)
	}
	if w.Code != status || problem.Status != status || problem.Title == "" || problem.Type != "about:blank" {
		t.Errorf("answered %d %q, want %d", w.Code, w.Body, status)
	}
	if h := w.Header(); h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", h)
	}
	for _, inside := range []string{"127.0.0.1", "dial", "upstream", "EOF", "timeout", "x509", "net/http", "tcp"} {
		if strings.Contains(w.Body.String(), inside) {
			t.Errorf("%q in the answer %q", inside, w.Body)
		}
	}
}

func readRequest(c net.Conn) error {
	_, err := http.ReadRequest(bufio.NewReader(c))
	return err
}

// Each way in which an upstream can fail: what the client gets, what is
// counted, and after how long.
func TestUpstreamFailures(t *testing.T) {
	hold := make(chan struct{})
	for name, tc := range map[string]struct {
		upstream func(c net.Conn)
		want     Failure
		after    time.Duration
	}{
		"never answers":         {func(c net.Conn) { _ = readRequest(c); <-hold }, TimedOut, 30 * time.Second},
		"answers half a header": {func(c net.Conn) { _ = readRequest(c); _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-"); <-hold }, TimedOut, 30 * time.Second},
		"closes":                {func(c net.Conn) { _ = readRequest(c) }, Broken, 0},
		"speaks no HTTP":        {func(c net.Conn) { _ = readRequest(c); _, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n\r\n") }, Broken, 0},
		"two lengths": {func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
		}, Broken, 0},
		"endless headers": {func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			_, _ = io.Copy(c, &endless{1 << 20})
		}, Broken, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hold = make(chan struct{})
				p := piped(t, Timeouts{}, tc.upstream)
				start := time.Now()
				w := ask(p, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
				checkProblem(t, w, tc.want.Status())
				if took := time.Since(start); took != tc.after {
					t.Errorf("answered after %v, want %v", took, tc.after)
				}
				if f := failures(p); f[tc.want] != 1 || len(f) != 1 {
					t.Errorf("failures %v, want %v", f, tc.want)
				}
				close(hold)
				p.CloseIdleConnections()
			})
		})
	}
}

func TestDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{Upstream: "http://upstream", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		checkProblem(t, ask(p, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)), 504)
		if took := time.Since(start); took != 2*time.Second || failures(p)[TimedOut] != 1 {
			t.Errorf("after %v: %v", took, failures(p))
		}
	})
}

func TestNoBoundOnResponseHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := piped(t, Timeouts{ResponseHeader: -1}, func(c net.Conn) {
			_ = readRequest(c)
			<-time.After(10 * time.Hour)
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		})
		if w := ask(p, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)); w.Code != 204 {
			t.Errorf("answered %d", w.Code)
		}
		p.CloseIdleConnections()
	})
}

func TestDeadlineOfRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := piped(t, Timeouts{}, func(c net.Conn) { _ = readRequest(c); _, _ = io.Copy(io.Discard, c) })
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		checkProblem(t, ask(p, httptest.NewRequestWithContext(ctx, "GET", "/", nil)), 504)
		if f := failures(p); f[PastDeadline] != 1 || len(f) != 1 {
			t.Errorf("failures %v", f)
		}
	})
}

// A client that leaves is nobody's failure: nothing is logged, and recorders
// see 499.
func TestClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		ended := make(chan struct{})
		p := piped(t, Timeouts{}, func(c net.Conn) { _ = readRequest(c); _, _ = io.Copy(io.Discard, c); close(ended) })
		p.failures.log = slog.New(slog.NewTextHandler(&logged, nil))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		w := ask(p, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		if w.Code != 499 || w.Body.Len() != 0 || logged.Len() != 0 {
			t.Errorf("answered %d %q, logged %q", w.Code, w.Body, &logged)
		}
		if f := failures(p); f[ClientGone] != 1 || len(f) != 1 {
			t.Errorf("failures %v", f)
		}
		<-ended // the upstream is told
	})
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	p := newProxy(t, Config{Upstream: "http://" + l.Addr().String()})
	checkProblem(t, ask(p, httptest.NewRequest("GET", "/", nil)), 502)
	if f := failures(p); f[Unreachable] != 1 || len(f) != 1 {
		t.Errorf("failures %v", f)
	}
}

func TestUntrusted(t *testing.T) {
	backend := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer backend.Close()
	backend.Config.ErrorLog = newNoise(nil)
	p := newProxy(t, Config{Upstream: backend.URL})
	checkProblem(t, ask(p, httptest.NewRequest("GET", "/", nil)), 502)
	if f := failures(p); f[Untrusted] != 1 || len(f) != 1 {
		t.Errorf("failures %v", f)
	}
	p = newProxy(t, Config{Upstream: backend.URL, TLS: UpstreamTLS{Unverified: true}})
	if w := ask(p, httptest.NewRequest("GET", "/", nil)); w.Code != 200 {
		t.Errorf("unverified: %d", w.Code)
	}
}

// An upstream that dies within its answer: the client must not take half an
// answer for a whole one, in either protocol.
func TestUpstreamDiesWithinBody(t *testing.T) {
	watchGoroutines(t)
	for name, answer := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				upstream := rawBackend(t, func(c net.Conn, r *bufio.Reader) {
					if _, err := http.ReadRequest(r); err == nil {
						_, _ = io.WriteString(c, answer)
					}
				})
				p := newProxy(t, Config{Upstream: upstream})
				s := serve(t, ServerConfig{TLS: newCertificate(t, "a.test")}, p)
				client := newClient(t, func(c *http.Transport) { c.ForceAttemptHTTP2 = protocol == "HTTP/2.0" })
				res, err := client.Do(request(t, "GET", "https://"+s.address, nil))
				if err == nil { // else not even its header was sent
					defer res.Body.Close()
					if body, err := io.ReadAll(res.Body); err == nil || res.Proto != protocol {
						t.Errorf("half an answer %q looks whole, in %s", body, res.Proto)
					}
				}
				eventually(t, "the failure is counted", func() bool { return failures(p)[Truncated] == 1 })
			})
		}
	}
}

// An upstream that stands still within its answer is given up.
func TestUpstreamStandsStillWithinBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		p := piped(t, Timeouts{}, func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
			for range 3 {
				<-time.After(4 * time.Minute)
				_, _ = io.WriteString(c, "more")
			}
			<-hold
		})
		start := time.Now()
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if got := recover(); got != nil && got != http.ErrAbortHandler {
					t.Errorf("panic %v", got)
				}
			}()
			ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{})
			p.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
			t.Error("the answer ended as if it were whole")
		}()
		if took := time.Since(start); took != 17*time.Minute || w.Body.String() != "moremoremore" {
			t.Errorf("given up after %v with %q", took, w.Body)
		}
		if f := failures(p); f[Truncated] != 1 || len(f) != 1 {
			t.Errorf("failures %v", f)
		}
		close(hold)
	})
}

func TestClientLeavesWithinAnswer(t *testing.T) {
	watchGoroutines(t)
	ended := make(chan struct{})
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, &endless{1 << 40})
		close(ended)
	})
	s, p := front(t, backend.URL)
	c := dial(t, s.address)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	_, _ = io.ReadFull(c, make([]byte, 1<<16))
	_ = c.Close()
	soon(t, "the upstream is told", ended)
	eventually(t, "it is counted once", func() bool { f := failures(p); return f[ClientGone] == 1 && len(f) == 1 })
}

// Bodies that a handler before has bounded, that break off, or that stand still.
func TestClientBodyFailures(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	p := newProxy(t, Config{Upstream: backend.URL})
	bounded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 10)
		p.ServeHTTP(w, r)
	})
	s := serve(t, ServerConfig{BodySilence: 50 * time.Millisecond}, bounded)
	if answer := talk(t, s.address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n01234567890123456789"); !strings.HasPrefix(answer, "HTTP/1.1 413") {
		t.Errorf("too large: answered %q", answer)
	}
	if answer := talk(t, s.address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"); !strings.HasPrefix(answer, "HTTP/1.1 408") {
		t.Errorf("too slow: answered %q", answer)
	}
	c := dial(t, s.address)
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
	_ = c.Close()
	eventually(t, "three failures", func() bool {
		f := failures(p)
		return f[TooLarge] == 1 && f[ClientSlow] == 1 && f[ClientGone] == 1 && len(f) == 3
	})
}

func TestFailuresAreLoggedSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		c := failureCounts{log: slog.New(slog.NewTextHandler(&logged, nil))}
		for range 1000 {
			c.add(Broken, errors.New("evil\nline"))
			c.add(TimedOut, nil)
			c.add(ClientGone, nil)
		}
		if lines := strings.Count(logged.String(), "\n"); lines != 2 {
			t.Errorf("%d lines for two kinds of failure: %q", lines, &logged)
		}
		time.Sleep(quiet)
		c.add(Broken, nil)
		if lines := strings.Count(logged.String(), "\n"); lines != 3 || c.counts[Broken].Load() != 1001 {
			t.Errorf("%d lines, %d counted", lines, c.counts[Broken].Load())
		}
	})
}

func TestNoiseOfNetHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		l := newNoise(slog.New(slog.NewTextHandler(&logged, nil)))
		for range 1000 {
			l.Printf("evil\nline\x1b from %s", "somebody")
		}
		if lines := strings.Count(logged.String(), "\n"); lines != noiseMessages || strings.Contains(logged.String(), "\x1b") {
			t.Errorf("%d lines: %.300q", lines, &logged)
		}
		logged.Reset()
		time.Sleep(quiet)
		l.Print("again")
		if got := logged.String(); !strings.Contains(got, "msg=again dropped=990") {
			t.Errorf("then %q", got)
		}
	})
}

func TestFailureNames(t *testing.T) {
	seen := make(map[string]bool)
	for f := range Failure(failureCount) {
		name := f.String()
		if name == "" || seen[name] || f.Status() == 0 {
			t.Errorf("failure %d is %q, status %d", f, name, f.Status())
		}
		seen[name] = true
	}
}
