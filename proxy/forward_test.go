package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// echo answers with the request line and header as they arrived.
func echo(t *testing.T) string {
	return rawBackend(t, func(c net.Conn, r *bufio.Reader) {
		for {
			var seen strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if seen.WriteString(line); line == "\r\n" {
					break
				}
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", seen.Len(), seen.String())
		}
	})
}

// sent is what an upstream sees of a request that a client writes.
func sent(t *testing.T, c Config, peer, text string) (requestLine string, header http.Header) {
	t.Helper()
	c.Upstream = echo(t) + c.Upstream
	in, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	in.RemoteAddr = peer
	w := httptest.NewRecorder()
	newProxy(t, c).ServeHTTP(w, in.WithContext(t.Context()))
	r := bufio.NewReader(w.Body)
	requestLine, _ = r.ReadString('\n')
	out, err := http.ReadRequest(bufio.NewReader(strings.NewReader(requestLine + rest(r))))
	if err != nil {
		t.Fatalf("%v in the answer %d %q", err, w.Code, requestLine)
	}
	out.Header.Set("Host", out.Host)
	return strings.TrimSpace(requestLine), out.Header
}

func rest(r io.Reader) string {
	text, _ := io.ReadAll(r)
	return string(text)
}

func TestTargetIsSentAsItCame(t *testing.T) {
	for _, target := range []string{
		"/", "/a/../b", "/./a//b", "//a", "//a%2Fb", "/a%2Fb", "/%61dmin", "/a%2e%2e/b", "/a;b=c", "/a+b", "/%E2%82%AC", "/a|b", "/{id}", "/a\"b", "/ü", "/a'b",
		"/?", "/?a=1&a=2", "/?a=1;b=2", "/?%zz", "/?a=%", "/?q=a+b%20c", "/?a=\"|{}", "/a?b?c", "/?" + strings.Repeat("a=1&", 11_000),
	} {
		for _, base := range []string{"", "/base", "/ba%2Fse/"} {
			line, _ := sent(t, Config{Upstream: base}, "192.0.2.1:5", "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n")
			if want := "GET " + strings.TrimSuffix(base, "/") + target + " HTTP/1.1"; line != want {
				t.Errorf("sent %.200q, want %.200q", line, want)
			}
		}
	}
}

func TestAbsoluteTarget(t *testing.T) {
	line, header := sent(t, Config{PreserveHost: true}, "192.0.2.1:5", "GET http://client.example/a%2Fb?c HTTP/1.1\r\nHost: other.example\r\n\r\n")
	if line != "GET /a%2Fb?c HTTP/1.1" || header.Get("Host") != "client.example" {
		t.Errorf("sent %q to %q", line, header.Get("Host"))
	}
}

func TestHandlerBeforeChangesPath(t *testing.T) {
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	w := httptest.NewRecorder()
	http.StripPrefix("/v1", newProxy(t, Config{Upstream: backend.URL})).ServeHTTP(w, httptest.NewRequest("GET", "/v1/a%2Fb?c", nil))
	if got := w.Body.String(); got != "/a%2Fb?c" {
		t.Errorf("sent %q", got)
	}
}

func TestHost(t *testing.T) {
	const text = "GET / HTTP/1.1\r\nHost: client.example\r\n\r\n"
	if _, h := sent(t, Config{PreserveHost: true}, "192.0.2.1:5", text); h.Get("Host") != "client.example" {
		t.Errorf("preserved host is %q", h.Get("Host"))
	}
	_, h := sent(t, Config{}, "192.0.2.1:5", text)
	if !strings.HasPrefix(h.Get("Host"), "127.0.0.1:") || h.Get("X-Forwarded-Host") != "client.example" {
		t.Errorf("host %q, forwarded %q", h.Get("Host"), h.Get("X-Forwarded-Host"))
	}
}

func TestForwarded(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104"), netip.MustParsePrefix("2001:db8::/32")}
	const claims = "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8, 9.9.9.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n" +
		"Forwarded: for=1.2.3.4\r\nX-Forwarded-Port: 1\r\nX-Forwarded-User: root\r\nX-Real-IP: 1.2.3.4\r\nX_Forwarded_For: 1.2.3.4\r\nx_real-ip: 1.2.3.4\r\n"
	for name, tc := range map[string]struct {
		peer, claims string
		want         map[string]string
	}{
		"nothing claimed": {"192.0.2.1:5", "", map[string]string{"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "x", "Forwarded": ""}},
		"a stranger's claims": {"192.0.2.1:5", claims, map[string]string{
			"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "x", "Forwarded": "",
			"X-Forwarded-Port": "", "X-Forwarded-User": "", "X-Real-Ip": "", "X_Forwarded_For": "", "X_real-Ip": "",
		}},
		"a trusted proxy's": {"10.1.2.3:5", claims, map[string]string{
			"X-Forwarded-For": "1.2.3.4, 5.6.7.8, 9.9.9.9, 10.1.2.3", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil",
			"Forwarded": "for=1.2.3.4, for=10.1.2.3;proto=http", "X-Forwarded-Port": "1", "X-Real-Ip": "1.2.3.4", "X_Forwarded_For": "",
		}},
		"a trusted proxy's, in IPv6": {"[2001:db8::1%eth0]:5", "Forwarded: for=_a\r\n", map[string]string{
			"X-Forwarded-For": "2001:db8::1", "Forwarded": `for=_a, for="[2001:db8::1]";proto=http`,
		}},
		"IPv4 in IPv6":                {"[::ffff:10.1.2.3]:5", "X-Forwarded-For: 1.2.3.4\r\n", map[string]string{"X-Forwarded-For": "1.2.3.4, 10.1.2.3"}},
		"no address":                  {"@", "X-Forwarded-For: 1.2.3.4\r\n", map[string]string{"X-Forwarded-For": "", "X-Forwarded-Proto": "http"}},
		"declared hop-by-hop":         {"192.0.2.1:5", "Connection: X-Forwarded-For, X-Forwarded-Proto\r\n", map[string]string{"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http"}},
		"declared by a trusted proxy": {"10.1.2.3:5", "Connection: X-Forwarded-For\r\nX-Forwarded-For: 1.2.3.4\r\n", map[string]string{"X-Forwarded-For": "1.2.3.4, 10.1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := sent(t, Config{TrustedProxies: trusted}, tc.peer, "GET / HTTP/1.1\r\nHost: x\r\n"+tc.claims+"\r\n")
			for header, want := range tc.want {
				if got := strings.Join(h[header], " | "); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
		})
	}
}

// What Rewrite sets cannot be taken away by the client, and what only Rewrite
// may set cannot be sent by it.
func TestHopByHopAndReserved(t *testing.T) {
	c := Config{
		Reserved: []string{"X-Caller-Id", "X-Request-Class"},
		Rewrite:  func(out, _ *http.Request) { out.Header.Set("X-Caller-Id", "verified") },
	}
	_, h := sent(t, c, "192.0.2.1:5", "GET / HTTP/1.1\r\nHost: x\r\nConnection: X-Caller-Id, close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: a\r\nProxy-Connection: b\r\n"+
		"TE: trailers, gzip\r\nX-Caller-Id: me\r\nX_Caller_Id: me\r\nx-caller_id: me\r\nX-Request-Class: critical\r\nX_REQUEST_CLASS: critical\r\nApi_Key: kept\r\n\r\n")
	for name, want := range map[string][]string{
		"X-Caller-Id": {"verified"}, "X-Hop": nil, "Keep-Alive": nil, "Proxy-Authorization": nil, "Proxy-Connection": nil,
		"Te": {"trailers"}, "X_caller_id": nil, "X-Caller_id": nil, "X-Request-Class": nil, "X_request_class": nil, "Api_key": {"kept"},
		"Accept-Encoding": nil, "User-Agent": nil,
	} {
		if got := h[name]; !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestUpgradesOnlyAsAllowed(t *testing.T) {
	for protocol, want := range map[string]string{"websocket": "websocket", "WebSocket": "WebSocket", "h2c": "", "websocket, h2c": "", "TLS/1.0": ""} {
		_, h := sent(t, Config{}, "192.0.2.1:5", "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\nUpgrade: "+protocol+"\r\n\r\n")
		if got := h.Get("Upgrade"); got != want || h.Get("Http2-Settings") != "" {
			t.Errorf("upgrade to %q was sent as %q, settings %q", protocol, got, h.Get("Http2-Settings"))
		}
	}
}

func TestAnswerIsPassedAsItCame(t *testing.T) {
	raw := rawBackend(t, func(c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 203 Other\r\nContent-Length: 6\r\nRateLimit: \"up\";r=1;t=2\r\nRateLimit-Policy: \"up\";q=5;w=1\r\nX-Two: 1\r\nX-Two: 2\r\n"+
				"Content-Encoding: gzip\r\nAlt-Svc: h3=\":9000\"\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\r\n<html>")
		}
	})
	w := httptest.NewRecorder()
	newProxy(t, Config{Upstream: raw}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 203 || w.Body.String() != "<html>" {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
	h := w.Result().Header
	for name, want := range map[string][]string{
		"Ratelimit": {`"up";r=1;t=2`}, "Ratelimit-Policy": {`"up";q=5;w=1`}, "X-Two": {"1", "2"}, "Content-Encoding": {"gzip"},
		"Alt-Svc": nil, "X-Hop": nil, "Keep-Alive": nil,
	} {
		if got := h[name]; !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// net/http guesses a type for an answer that has none; a proxy must not.
func TestTypeIsNotGuessed(t *testing.T) {
	watchGoroutines(t)
	raw := rawBackend(t, func(c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
		}
	})
	s, _ := front(t, raw)
	res, _ := get(t, newClient(t, nil), request(t, "GET", "http://"+s.address, nil))
	if guess, ok := res.Header["Content-Type"]; ok {
		t.Errorf("guessed %q", guess)
	}
}

func TestConfigurationFaults(t *testing.T) {
	for upstream, word := range map[string]string{
		"": "must be", "localhost:9000": "must be", "ftp://x": `"ftp"`, "http://": "names no host", "http://u:p@x": "user", "http://x?q=1": "query", "http://x#f": "fragment",
		"unix://host/x": "names no socket", "unix:": "names no socket", "http://[::1": "must be", "://": "must be",
	} {
		if _, err := New(Config{Upstream: upstream}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v, want %q in it", upstream, err, word)
		}
	}
	_, err := New(Config{Upstream: "gopher://x", MaxIdleConns: -1, MaxConns: 2_000_000, MaxResponseHeaderBytes: 5,
		Timeouts: Timeouts{Dial: 2 * 3600e9, TLSHandshake: -1, ResponseHeader: 1, Silence: 1, Upgraded: 1, Idle: 1, ExpectContinue: -5},
		TLS:      UpstreamTLS{CAFile: "missing.pem", CertFile: "a"}, FlushInterval: time.Hour, Reserved: []string{"a b"}, Upgrades: []string{""},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), {}}})
	for _, part := range []string{"gopher", "MaxIdleConns", "MaxConns", "MaxResponseHeaderBytes", "Timeouts.Dial", "Timeouts.TLSHandshake", "Timeouts.ResponseHeader",
		"Timeouts.Silence", "Timeouts.Upgraded", "Timeouts.Idle", "Timeouts.ExpectContinue", "missing.pem", "TLS.KeyFile", "FlushInterval", "Reserved[0]", "Upgrades[0]", "TrustedProxies[0]", "TrustedProxies[1]"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not among the faults: %v", part, err)
		}
	}
}
