package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// pool is the certificates in a file.
func pool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	p, err := readAuthorities(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// clientFor speaks a protocol to a server with a certificate for a.test.
func clientFor(t *testing.T, files ServerTLS, protocol string) *http.Client {
	return newClient(t, func(c *http.Transport) {
		c.TLSClientConfig = &tls.Config{RootCAs: pool(t, files.CertFile), ServerName: "a.test"}
		c.Protocols = protocols(func(p *http.Protocols) {
			p.SetHTTP1(protocol == "HTTP/1.1")
			p.SetHTTP2(protocol == "HTTP/2.0")
			p.SetUnencryptedHTTP2(protocol == "h2c")
		})
	})
}

// Every protocol in meets every protocol out.
func TestProtocolsInAndOut(t *testing.T) {
	watchGoroutines(t)
	files := newCertificate(t, "a.test")
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Proto+" "+r.Header.Get("X-Forwarded-Proto"))
		_, _ = w.Write(bytes.ToUpper(body))
		w.Header().Set("X-Sum", r.Trailer.Get("X-Sum"))
	})
	backend := serve(t, ServerConfig{TLS: files}, seen)
	plainBackend := serve(t, ServerConfig{H2C: true}, seen)
	socket := filepath.Join(t.TempDir(), "s")
	onSocket(t, socket, seen)
	for upstream, out := range map[string]string{
		"https://" + backend.address: "HTTP/2.0", "h2c://" + plainBackend.address: "HTTP/2.0", "http://" + plainBackend.address: "HTTP/1.1", "unix://" + socket: "HTTP/1.1",
	} {
		p := newProxy(t, Config{Upstream: upstream, TLS: UpstreamTLS{CAFile: files.CertFile, ServerName: "a.test"}})
		secure, plain := serve(t, ServerConfig{TLS: files}, p), serve(t, ServerConfig{H2C: true}, p)
		for in, address := range map[string]string{"HTTP/1.1": "https://" + secure.address, "HTTP/2.0": "https://" + secure.address, "h2c": "http://" + plain.address} {
			r := request(t, "POST", address, io.MultiReader(strings.NewReader("body")))
			r.Trailer = http.Header{"X-Sum": {"42"}}
			res, body := get(t, clientFor(t, files, in), r)
			scheme, _, _ := strings.Cut(address, ":")
			if seen := res.Header.Get("X-Seen"); body != "BODY" || seen != out+" "+scheme {
				t.Errorf("%s to %s: answered %q, the backend saw %q", in, upstream, body, seen)
			}
			if sum := res.Trailer.Get("X-Sum"); sum != "42" {
				t.Errorf("%s to %s: trailer %q", in, upstream, sum)
			}
		}
	}
}

// onSocket serves a handler on a Unix socket.
func onSocket(t *testing.T, path string, handler http.Handler) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
}

// An h2c upstream is asked for upgrades in HTTP/1.1.
func TestUpgradeToH2CUpstream(t *testing.T) {
	watchGoroutines(t)
	upstream := upgradable(t, func(c net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(c, "up") })
	s, _ := front(t, strings.Replace(upstream, "http:", "h2c:", 1))
	_, r := upgrade(t, s.address)
	got := make([]byte, 2)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "up" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestSmugglingOverTLS(t *testing.T) {
	watchGoroutines(t)
	s := serve(t, ServerConfig{TLS: newCertificate(t, "a.test")}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") }))
	c := tls.Client(dial(t, s.address), &tls.Config{InsecureSkipVerify: true})
	_, _ = io.WriteString(c, smuggling[0].stream)
	if answer := rest(c); !strings.HasPrefix(answer, "HTTP/1.1 400") {
		t.Errorf("answered %q", answer)
	}
}

func TestHTTPOnTLSPort(t *testing.T) {
	watchGoroutines(t)
	s := serve(t, ServerConfig{TLS: newCertificate(t, "a.test")}, respond(""))
	if answer := talk(t, s.address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.0 400") || s.Stats().Handshakes != 1 {
		t.Errorf("answered %q, %d handshakes failed", answer, s.Stats().Handshakes)
	}
}

// A handshake that stands still is given up, and holds up nobody else.
func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s, stop := serveInMemory(t, ServerConfig{TLS: newCertificate(t, "a.test")}, respond("here"))
		start := time.Now()
		silent := l.dial()
		c := tls.Client(l.dial(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if answer := rest(c); !strings.HasSuffix(answer, "here") || time.Since(start) != 0 {
			t.Errorf("answered %q after %v", answer, time.Since(start))
		}
		_, _ = io.Copy(io.Discard, silent)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("given up after %v", took)
		}
		stop()
		if n := s.Stats().Handshakes; n != 1 {
			t.Errorf("%d handshakes failed", n)
		}
	})
}

func TestOldTLSIsRefused(t *testing.T) {
	watchGoroutines(t)
	s := serve(t, ServerConfig{TLS: newCertificate(t, "a.test")}, respond(""))
	c := tls.Client(dial(t, s.address), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11})
	if err := c.Handshake(); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

func TestClientCertificates(t *testing.T) {
	watchGoroutines(t)
	files, theirs := newCertificate(t, "a.test"), newCertificate(t, "client.test")
	files.ClientCAFile = theirs.CertFile
	backend := serve(t, ServerConfig{TLS: files}, respond("welcome"))
	for _, c := range []UpstreamTLS{{CertFile: theirs.CertFile, KeyFile: theirs.KeyFile}, {}} {
		want := 502
		if c.CertFile != "" {
			want = 200
		}
		c.CAFile, c.ServerName = files.CertFile, "a.test"
		w := ask(newProxy(t, Config{Upstream: "https://" + backend.address, TLS: c}), request(t, "GET", "/", nil))
		if w.Code != want {
			t.Errorf("with certificate %q: %d, want %d", c.CertFile, w.Code, want)
		}
	}
}

// name asks a server for the name in its certificate.
func name(t *testing.T, address string) string {
	t.Helper()
	c := tls.Client(dial(t, address), &tls.Config{InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestCertificateReload(t *testing.T) {
	watchGoroutines(t)
	files := newCertificate(t, "old.test")
	s := serve(t, ServerConfig{TLS: files}, respond(""))
	before := dial(t, s.address)
	old := tls.Client(before, &tls.Config{InsecureSkipVerify: true})
	if err := old.Handshake(); err != nil {
		t.Fatal(err)
	}
	write(t, files.KeyFile, []byte("half written"))
	if err := s.Reload(); err == nil || name(t, s.address) != "old.test" {
		t.Errorf("a key that does not fit: %v, serving %s", err, name(t, s.address))
	}
	if err := os.Remove(files.CertFile); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || name(t, s.address) != "old.test" {
		t.Errorf("a missing file: %v, serving %s", err, name(t, s.address))
	}
	writeCertificate(t, files, "new.test")
	if err := s.Reload(); err != nil || name(t, s.address) != "new.test" {
		t.Errorf("a new pair: %v, serving %s", err, name(t, s.address))
	}
	_, _ = io.WriteString(old, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if answer := rest(old); !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Errorf("the connection from before: %q", answer)
	}
}

func TestCertificateIsFollowed(t *testing.T) {
	files := newCertificate(t, "old.test")
	synctest.Test(t, func(t *testing.T) {
		c := &certificate{files: files}
		if _, err := c.server(); err != nil {
			t.Fatal(err)
		}
		first := c.current.Load()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.follow(ctx)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.current.Load() != first {
			t.Error("a new certificate, though no file has changed")
		}
		writeCertificate(t, files, "new.test")
		time.Sleep(reloadEvery)
		synctest.Wait()
		if c.current.Load() == first {
			t.Errorf("the new certificate is not served after %v", reloadEvery)
		}
		cancel()
		<-done
	})
}

// raw2 is a client of HTTP/2 that writes what it likes.
type raw2 struct {
	net.Conn
	framer *http2.Framer
	header bytes.Buffer
	coder  *hpack.Encoder
}

func newRaw2(t *testing.T, address string) *raw2 {
	t.Helper()
	c := &raw2{Conn: dial(t, address)}
	c.coder = hpack.NewEncoder(&c.header)
	_, _ = io.WriteString(c, http2.ClientPreface)
	c.framer = http2.NewFramer(c, c)
	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return c
}

// open begins a request on a stream.
func (c *raw2) open(stream uint32, method string, last bool) error {
	c.header.Reset()
	for _, field := range [][2]string{{":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", "/"}} {
		_ = c.coder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.header.Bytes(), EndStream: last, EndHeaders: true})
}

// HTTP/2 frames a request by length, so anything fits into a field that would
// end a line, or a request, in HTTP/1.
func TestSmugglingFromHTTP2(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/good" || r.Host != "x" {
			t.Errorf("%s %s of %q reached the backend with %v", r.Method, r.RequestURI, r.Host, r.Header)
		}
	})
	s := serve(t, ServerConfig{H2C: true}, newProxy(t, Config{Upstream: backend.URL, PreserveHost: true}))
	client := clientFor(t, newCertificate(t, "a.test"), "h2c")
	for _, fields := range [][][2]string{
		{{":path", "/a HTTP/1.1"}}, {{":path", "/?q HTTP/1.1"}}, {{":path", "/a\r\nX: y"}}, {{":path", "/a#b"}}, {{":path", ""}}, {{":path", "*"}}, {{":path", "a"}},
		{{":method", "GET /admin HTTP/1.1"}}, {{":authority", "y\r\nX: z"}}, {{":authority", "x y"}}, {{":authority", "x/y"}},
		{{"transfer-encoding", "chunked"}}, {{"connection", "close"}}, {{"x", "y\r\n\r\nGET /admin HTTP/1.1"}}, {{"x: y\r\nz", "a"}},
		{{"x y", "z"}}, {{"upgrade", "websocket"}}, {{":scheme", "http://x/admin?"}, {":path", "/b c"}},
	} {
		c := newRaw2(t, s.address)
		header := map[string]string{":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/bad"}
		var extra [][2]string
		for _, f := range fields {
			if _, pseudo := header[f[0]]; pseudo {
				header[f[0]] = f[1]
			} else {
				extra = append(extra, f)
			}
		}
		for _, name := range []string{":method", ":scheme", ":authority", ":path"} {
			_ = c.coder.WriteField(hpack.HeaderField{Name: name, Value: header[name]})
		}
		for _, f := range extra {
			_ = c.coder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.header.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		for over := false; !over; { // until the stream has its answer
			frame, err := c.framer.ReadFrame()
			if err != nil {
				break
			}
			switch frame.(type) {
			case *http2.HeadersFrame, *http2.RSTStreamFrame, *http2.GoAwayFrame:
				over = true
			}
		}
	}
	if res, _ := get(t, client, func() *http.Request {
		r := request(t, "GET", "http://"+s.address+"/good", nil)
		r.Host = "x"
		return r
	}()); res.StatusCode != 200 {
		t.Errorf("a good request: %d", res.StatusCode)
	}
}

// A client that opens and cancels requests as fast as it can starts few of
// them, loses its connection, and leaves nothing in flight.
func TestRapidReset(t *testing.T) {
	watchGoroutines(t)
	var started, inFlight atomic.Int64
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		started.Add(1)
		inFlight.Add(1)
		defer inFlight.Add(-1)
		<-r.Context().Done()
	})
	s := serve(t, ServerConfig{H2C: true}, handler)
	c := newRaw2(t, s.address)
	go func() { _, _ = io.Copy(io.Discard, c.Conn) }() // the server must be able to write
	var err error
	written := 0
	for stream := uint32(1); err == nil && written < 50_000; stream += 2 {
		if err = c.open(stream, "GET", true); err == nil {
			err = c.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
		}
		written++
	}
	eventually(t, "the connection is closed", func() bool { return s.Stats().Open == 0 })
	eventually(t, "nothing is in flight", func() bool { return inFlight.Load() == 0 })
	if n := started.Load(); n > 200+100+1 {
		t.Errorf("%d requests were started of %d", n, written)
	}
}

// A client that cancels some requests of many keeps its connection.
func TestSomeResetsAreFine(t *testing.T) {
	watchGoroutines(t)
	s := serve(t, ServerConfig{H2C: true, MaxResets: 10}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == "DELETE" {
			<-r.Context().Done()
		}
	}))
	client := clientFor(t, ServerTLS{CertFile: newCertificate(t, "a.test").CertFile}, "h2c")
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan struct{})
		go func() {
			defer close(cancelled)
			r, _ := http.NewRequestWithContext(ctx, "DELETE", "http://"+s.address, nil)
			if res, err := client.Do(r); err == nil {
				_ = res.Body.Close()
			}
		}()
		res, _ := get(t, client, request(t, "GET", "http://"+s.address, nil))
		cancel()
		<-cancelled
		if res.StatusCode != 200 {
			t.Fatalf("answered %d", res.StatusCode)
		}
	}
	if floods := s.Stats().Floods; floods != 0 {
		t.Errorf("%d floods", floods)
	}
}

func TestResetBudget(t *testing.T) {
	b := resetBudget{most: 2}
	b.finish() // earns nothing in advance
	for i, want := range []bool{false, false, true} {
		if b.reset(); b.exceeded() != want {
			t.Errorf("after %d resets: exceeded is %v", i+1, !want)
		}
	}
	if b.finish(); b.exceeded() {
		t.Error("a request that finished gives nothing back")
	}
}

// The body of a request of HTTP/2 must not stand still either; the connection
// goes on.
func TestStreamBodySilence(t *testing.T) {
	watchGoroutines(t)
	bodies := make(chan error, 1)
	s := serve(t, ServerConfig{H2C: true, BodySilence: 50 * time.Millisecond}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		bodies <- err
	}))
	c := newRaw2(t, s.address)
	if err := c.open(1, "POST", false); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
	if err := soon(t, "the body is given up", bodies); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if err := c.open(3, "POST", false); err != nil {
		t.Fatal(err)
	}
	if err := c.framer.WriteData(3, true, []byte("body")); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, "the next body", bodies); err != nil {
		t.Error(err)
	}
}

// A client that grants no window holds no request for ever; the connection
// goes on.
func TestStreamWriteSilence(t *testing.T) {
	watchGoroutines(t)
	written := make(chan error, 1)
	s := serve(t, ServerConfig{H2C: true, WriteSilence: 50 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := int64(10)
		if r.Method == "POST" {
			size = 1 << 20 // more than the window that a client grants at first
		}
		_, err := io.Copy(w, &endless{size})
		written <- err
	}))
	c := newRaw2(t, s.address)
	go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
	for stream, method := range []string{1: "POST", 3: "GET"} {
		if method == "" {
			continue
		}
		if err := c.open(uint32(stream), method, true); err != nil {
			t.Fatal(err)
		}
		if err := soon(t, "the answer is given up", written); (err == nil) != (method == "GET") {
			t.Errorf("%s ended with %v", method, err)
		}
	}
}

// Without leave HTTP/2 by prior knowledge is refused, and the guard goes on
// looking.
func TestNoH2CWithoutLeave(t *testing.T) {
	watchGoroutines(t)
	s := serve(t, ServerConfig{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") }))
	if answer := talk(t, s.address, http2.ClientPreface+smuggling[0].stream); !strings.HasPrefix(answer, "HTTP/1.1 400") || strings.Count(answer, "HTTP/1.1 ") != 1 {
		t.Errorf("answered %q", answer)
	}
}
