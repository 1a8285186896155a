package proxy

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// What a stream of requests is taken for at the front must be what the backend
// sees: as many requests as were decided about, and none of the attacker's
// second ones.
func TestSmugglingCorpus(t *testing.T) {
	watchGoroutines(t)
	var atBackend, admin atomic.Int64
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		atBackend.Add(1)
		if r.URL.Path == "/admin" {
			admin.Add(1)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	decided := &counting{Handler: newProxy(t, Config{Upstream: backend.URL})}
	s := serve(t, ServerConfig{}, decided)
	for _, tc := range smuggling {
		t.Run(tc.name, func(t *testing.T) {
			before := decided.seen.Load()
			answers := talk(t, s.address, tc.stream)
			if first, _, _ := strings.Cut(answers, "\r\n"); !strings.HasPrefix(first, "HTTP/1.1 400 Bad Request") && (tc.fault != nil || first != "HTTP/1.1 501 Not Implemented") {
				t.Errorf("answered %q, want 400", first)
			}
			if n := strings.Count(answers, "HTTP/1.1 "); n != 1 {
				t.Errorf("%d answers, want one and the end of the connection: %q", n, answers)
			}
			var f framing
			if _, _ = f.scan([]byte(tc.stream)); f.messages == 0 && decided.seen.Load() != before {
				t.Error("a request with a faulty header was decided about")
			}
		})
	}
	backend.Close() // waits for what it is serving
	if n := decided.seen.Load(); atBackend.Load() > n || admin.Load() != 0 {
		t.Errorf("%d decided, %d at the backend, %d of them smuggled", n, atBackend.Load(), admin.Load())
	}
	if malformed := s.Stats().Malformed; malformed < 25 {
		t.Errorf("%d malformed messages counted, want one for each case", malformed)
	}
}

// A faulty request behind a good one on the same connection, in the same
// write: the good one is answered first and is not disturbed.
func TestFaultBehindGoodRequest(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.URL.Path+string(body))
	})
	s, p := front(t, backend.URL)
	answers := talk(t, s.address, "POST /good HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"+smuggling[0].stream)
	r := bufio.NewReader(strings.NewReader(answers))
	first, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(first.Body); first.StatusCode != 200 || string(body) != "/goodbody" {
		t.Errorf("first answer is %d %q", first.StatusCode, body)
	}
	second, err := http.ReadResponse(r, nil)
	if err != nil || second.StatusCode != 400 || !second.Close {
		t.Errorf("second answer is %v, %v", second, err)
	}
	if f := failures(p); len(f) != 0 {
		t.Errorf("the good request failed: %v", f)
	}
}

// Bytes come one by one as well: nothing depends on what a read holds.
func TestFaultByteByByte(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(http.ResponseWriter, *http.Request) {})
	s, _ := front(t, backend.URL)
	c := dial(t, s.address)
	for _, b := range []byte(smuggling[0].stream) {
		if _, err := c.Write([]byte{b}); err != nil {
			break // refused before the end
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != 400 {
		t.Errorf("answered %v, %v", res, err)
	}
}

func TestBrokenChunkIsTheClientsFault(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	s, p := front(t, backend.URL)
	answer := talk(t, s.address, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "Connection: close") {
		t.Errorf("answered %q", answer)
	}
	if f := failures(p); f[BadRequest] != 1 || len(f) != 1 {
		t.Errorf("failures %v, want one bad request", f)
	}
}

func TestNotForReverseProxies(t *testing.T) {
	watchGoroutines(t)
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s %s reached the backend", r.Method, r.URL) })
	s, _ := front(t, backend.URL)
	for stream, want := range map[string]string{
		"CONNECT evil:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n":        "405",
		"CONNECT /path HTTP/1.1\r\nHost: x\r\n\r\n":                  "405",
		"GET * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":     "400",
		"GET /a#b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":  "400",
		"GET /?a#b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n": "400",
		"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n":                       "400",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                           "400",
		"PRI * HTTP/2.0\r\nX: y\r\n\r\n":                             "400",
		"GET / HTTP/0.9\r\nHost: x\r\n\r\n":                          "505",
	} {
		if answer := talk(t, s.address, stream); len(answer) < 12 || answer[9:12] != want {
			t.Errorf("%q answered %q, want %s", stream, answer, want)
		}
	}
}
