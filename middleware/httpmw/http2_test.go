package httpmw_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Streams that the client resets give their places back; what a handler still
// does holds its own.
func TestHTTP2Resets(t *testing.T) {
	const n = 200
	o := newWitness()
	entered := make(chan struct{}, n)
	p := one(t, o, "x", &room{left: 50, streams: 1})
	server := httptest.NewUnstartedServer(protect(t, httpmw.Config{}, p).Wrap(okay(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	})))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	for range n {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := client.Do(r); err == nil {
				t.Errorf("%d %s", resp.StatusCode, resp.Proto)
			}
		}()
		<-entered
		cancel()
		<-done
		<-o.released
	}
	if p.InFlight() != 0 {
		t.Errorf("%d in flight", p.InFlight())
	}
	for _, got := range o.outcomes() {
		if got != pipeline.Ignored {
			t.Errorf("outcome %v", got)
		}
	}
	if resp, err := client.Get(server.URL + "/ok"); err != nil || resp.StatusCode != 200 {
		t.Errorf("the next request: %v %v", resp, err)
	}
}

// A refusal over HTTP/2 does not end the connection, which has other streams.
func TestHTTP2Refusals(t *testing.T) {
	var conns atomic.Int32
	p := one(t, nil, "x", refusing(pipeline.WorkerShed, pipeline.Detail{}))
	server := httptest.NewUnstartedServer(protect(t, httpmw.Config{}, p).Wrap(http.HandlerFunc(nothing)))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	for range 5 {
		endless := io.LimitReader(strings.NewReader(strings.Repeat("x", 1<<16)), 1<<16) // of a length that is not told
		resp, err := server.Client().Post(server.URL, "text/plain", endless)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 503 || resp.ProtoMajor != 2 || !strings.Contains(string(body), "worker-shed") {
			t.Errorf("%d %s %q %v %v", resp.StatusCode, resp.Proto, body, err, resp.Header)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
