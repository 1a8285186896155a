package httpmw_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

func trivial(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }

func benchHandlers(b *testing.B) map[string]http.Handler {
	l := tokens(b, "per-caller", limit.Per(100, time.Second), 500)
	admitting := granting(pipeline.Detail{Limit: l, Remaining: 499, ResetAfter: 10 * time.Millisecond})
	wrap := func(f httpmw.Fields, s pipeline.Stage) http.Handler {
		return protect(b, full(b, f), one(b, nil, "x", s)).Wrap(http.HandlerFunc(trivial))
	}
	return map[string]http.Handler{
		"bare":     http.HandlerFunc(trivial),
		"admitted": wrap(httpmw.NoFields, admitting),
		"fields":   wrap(httpmw.Draft11, admitting),
		"shed":     wrap(httpmw.Draft11, refusing(pipeline.WorkerShed, pipeline.Detail{})),
		"limited":  wrap(httpmw.Draft11, refusing(pipeline.RateLimited, pipeline.Detail{Rule: l.Name, Limit: l, RetryAfter: time.Second})),
	}
}

// BenchmarkMiddleware is the middleware alone, without a server.
func BenchmarkMiddleware(b *testing.B) {
	for name, h := range benchHandlers(b) {
		b.Run(name, func(b *testing.B) {
			r := fullRequest()
			var w http.ResponseWriter = serverWriter{discard{make(http.Header, 16)}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.Header())
				h.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkServer is net/http's work for one request and its answer, without a
// network or a client: a connection that brings n requests and drops the
// answers.
func BenchmarkServer(b *testing.B) {
	for name, h := range benchHandlers(b) {
		b.Run(name, func(b *testing.B) {
			f := &feed{left: b.N, closed: make(chan struct{})}
			server := &http.Server{Handler: h}
			l := newPipes()
			go func() { _ = server.Serve(l) }()
			b.ReportAllocs()
			b.ResetTimer()
			l.conns <- f
			<-f.closed
			b.StopTimer()
			_ = server.Close()
			if f.answers < int64(b.N) {
				b.Fatalf("%d answers to %d requests", f.answers, b.N)
			}
		})
	}
}

const benchRequest = "GET /v1/charges HTTP/1.1\r\nHost: service\r\nUser-Agent: bench\r\nX-Api-Key: 0123456789abcdef0123456789abcdef\r\n\r\n"

// feed is such a connection.
type feed struct {
	net.Conn
	left    int // requests
	at      int // bytes of the current one that were read
	answers int64
	closed  chan struct{}
}

func (f *feed) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, benchRequest[f.at:])
	if f.at += n; f.at == len(benchRequest) {
		f.left, f.at = f.left-1, 0
	}
	return n, nil
}

func (f *feed) Write(p []byte) (int, error) {
	f.answers += int64(bytes.Count(p, []byte("HTTP/1.1 ")))
	return len(p), nil
}

func (f *feed) Close() error {
	close(f.closed)
	return nil
}

func (f *feed) LocalAddr() net.Addr              { return pipeAddr{} }
func (f *feed) RemoteAddr() net.Addr             { return pipeAddr{} }
func (f *feed) SetDeadline(time.Time) error      { return nil }
func (f *feed) SetReadDeadline(time.Time) error  { return nil }
func (f *feed) SetWriteDeadline(time.Time) error { return nil }
