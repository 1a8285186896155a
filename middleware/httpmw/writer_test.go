package httpmw_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// given is the ResponseWriter that a handler gets in front of another one.
func given(t *testing.T, w http.ResponseWriter, use func(http.ResponseWriter)) {
	t.Helper()
	p := one(t, nil, "x", &room{left: 1, streams: 1})
	protect(t, httpmw.Config{}, p).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { use(w) })).
		ServeHTTP(w, newRequest("GET", "/"))
}

type flushing struct{ discard }

func (flushing) Flush() {}

type pushing struct{ flushing }

func (pushing) Push(string, *http.PushOptions) error { return http.ErrNotSupported }

// wrapped hides what is behind it from type assertions, as middlewares do.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A handler finds by type assertion what the server's writer can do, no more
// and no less.
func TestTheWriterCanDoWhatTheServersCan(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	plain := discard{http.Header{}}
	for _, c := range []struct {
		what                string
		w                   http.ResponseWriter
		flush, hijack, push bool
	}{
		{"nothing", plain, false, false, false},
		{"flush", flushing{plain}, true, false, false},
		{"HTTP/2", pushing{flushing{plain}}, true, false, true},
		{"HTTP/1", hijackable{server}, true, true, false},
		{"HTTP/1 behind a wrapper", wrapped{hijackable{server}}, true, true, false},
	} {
		given(t, c.w, func(w http.ResponseWriter) {
			_, flush := w.(http.Flusher)
			_, hijack := w.(http.Hijacker)
			_, from := w.(io.ReaderFrom)
			_, push := w.(http.Pusher)
			if flush != c.flush || hijack != c.hijack || from != c.hijack || push != c.push {
				t.Errorf("%s: flush %t, hijack %t, read from %t, push %t", c.what, flush, hijack, from, push)
			}
			if _, ok := w.(io.StringWriter); !ok {
				t.Errorf("%s: no WriteString", c.what)
			}
			if push {
				if err := w.(http.Pusher).Push("/x", nil); !errors.Is(err, http.ErrNotSupported) {
					t.Errorf("%s: push: %v", c.what, err)
				}
			}
		})
	}
}

// A hijack that finds its way through wrappers still counts.
func TestAHijackThroughWrappersCounts(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	o := newWitness()
	p := one(t, o, "x", &room{left: 1, streams: 1})
	var conn net.Conn
	protect(t, httpmw.Config{}, p).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		if conn, _, err = http.NewResponseController(wrapped{w}).Hijack(); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(wrapped{hijackable{server}}, newRequest("GET", "/"))
	if p.InFlight() != 1 {
		t.Errorf("%d in flight while the connection is open", p.InFlight())
	}
	if conn.Close(); p.InFlight() != 0 {
		t.Errorf("%d in flight", p.InFlight())
	}
}

func TestAHijackThatFails(t *testing.T) {
	o := newWitness()
	p := one(t, o, "x", &room{left: 1, streams: 1})
	protect(t, httpmw.Config{}, p).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("%v", err)
		}
	})).ServeHTTP(flushing{discard{http.Header{}}}, newRequest("GET", "/"))
	if p.InFlight() != 0 {
		t.Errorf("%d in flight", p.InFlight())
	}
}

// The server's own abilities are there over a real connection: deadlines and
// full duplex through ResponseController, interim answers, sendfile's path.
func TestOverARealServer(t *testing.T) {
	p := one(t, nil, "x", &room{left: 100, streams: 1})
	h := protect(t, httpmw.Config{}, p).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		for what, err := range map[string]error{
			"read deadline":  c.SetReadDeadline(time.Now().Add(time.Minute)),
			"write deadline": c.SetWriteDeadline(time.Now().Add(time.Minute)),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := c.EnableFullDuplex(); err != nil && r.ProtoMajor == 1 {
			t.Errorf("full duplex: %v", err)
		}
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot) // one too many: the first one counts
		_, _ = io.Copy(w, strings.NewReader("copied, "))
		_, _ = io.WriteString(w, "written")
		if err := c.Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
	}))
	for _, two := range []bool{false, true} {
		server := httptest.NewUnstartedServer(h)
		server.Config.ErrorLog = silent
		server.EnableHTTP2 = two
		server.StartTLS()
		resp, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusAccepted || string(body) != "copied, written" || err != nil || (resp.ProtoMajor == 2) != two {
			t.Errorf("%s: %d %q %v", resp.Proto, resp.StatusCode, body, err)
		}
		server.Close()
		if n := p.InFlight(); n != 0 {
			t.Errorf("%d in flight", n)
		}
	}
}

// A taken connection passes on half-closing, and copies without a detour.
func TestATakenConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	peer, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	given(t, hijackable{server}, func(w http.ResponseWriter) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if conn.(interface{ NetConn() net.Conn }).NetConn() != server {
			t.Error("NetConn is another connection")
		}
		if n, err := io.Copy(conn, strings.NewReader("hello")); n != 5 || err != nil {
			t.Errorf("%d %v", n, err)
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(peer); string(got) != "hello" || err != nil {
			t.Errorf("%q %v", got, err)
		}
		_, _ = io.WriteString(peer, "bye")
		_ = peer.(*net.TCPConn).CloseWrite()
		var text strings.Builder
		if _, err := io.Copy(&text, conn); text.String() != "bye" || err != nil {
			t.Errorf("%q %v", text.String(), err)
		}
	})
	a, b := net.Pipe()
	defer a.Close()
	given(t, hijackable{b}, func(w http.ResponseWriter) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, ok := conn.(interface{ CloseWrite() error }); ok {
			t.Error("a pipe cannot half-close")
		}
	})
}

// A handler's goroutine that writes after the end does not reach anybody
// else's answer.
func TestWritingAfterTheEnd(t *testing.T) {
	var kept http.ResponseWriter
	p := one(t, nil, "x", granting(pipeline.Detail{}))
	m := protect(t, httpmw.Config{}, p)
	m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { kept = w })).ServeHTTP(httptest.NewRecorder(), newRequest("GET", "/"))
	other := httptest.NewRecorder()
	m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(kept, "stray")
		_, _ = io.WriteString(w, "own")
	})).ServeHTTP(other, newRequest("GET", "/"))
	if got := other.Body.String(); got != "own" {
		t.Errorf("%q", got)
	}
}
