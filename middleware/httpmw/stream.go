package httpmw

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Detach moves the request that ctx belongs to from the limits on requests in
// flight to those on long-lived ones. Handlers call it that stream in a way
// which the middleware cannot see: anything but text/event-stream, upgrades
// and hijacked connections. When it is refused, the client has been answered
// unless the answer had begun, the context has ended, and the handler is to
// return. It acts once, and does nothing for a context that no middleware made.
func Detach(ctx context.Context) pipeline.Decision {
	if e := exchangeOf(ctx); e != nil {
		return e.detach()
	}
	return pipeline.Decision{}
}

// detach does nothing after the end, when the request is another's perhaps.
func (e *exchange) detach() pipeline.Decision {
	if !e.enter() {
		return pipeline.Decision{}
	}
	defer e.leave()
	q := e.request.Load()
	d := e.middleware.pipeline.Detach(e.incoming.Context(), q)
	e.note(pipeline.Ignored) // how long a stream lasts says nothing of load
	if d.Verdict != pipeline.Admit {
		e.refuse(q, d)
	}
	return d
}

// ofTheHandler are headers that say something of an answer which is not sent.
var ofTheHandler = []string{
	"Content-Length", "Content-Encoding", "Content-Disposition", "Content-Range", "Etag", "Last-Modified", "Expires", "Trailer",
	"Transfer-Encoding", "Connection", "Upgrade", "Sec-Websocket-Accept", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions",
}

// refuse answers an admitted request with a refusal, if its answer has not
// begun, and ends its context.
func (e *exchange) refuse(q *pipeline.Request, d pipeline.Decision) {
	if !e.refused.Swap(true) && !e.begun {
		e.begun = true
		h := e.writer.Header()
		for _, name := range ofTheHandler {
			delete(h, name)
		}
		e.settings.refuse(e.writer, e.incoming, q, d)
		_ = http.NewResponseController(e.writer).Flush() // the handler may take its time to notice
	}
	e.cancelable().cancel()
}

// Work wraps the handler that does the work, where something between it and
// the middleware answers without waiting for its end, as http.TimeoutHandler
// does. The request then counts until the work has ended.
func Work(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e := exchangeOf(r.Context()); e != nil && e.enter() {
			defer e.leave()
		}
		next.ServeHTTP(w, r)
	})
}

// tunnel is a connection that the handler took over.
type tunnel struct {
	conn net.Conn    // the server's
	open atomic.Bool // it holds the request
}

func (e *exchange) hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !e.enter() { // for the connection, until it is closed
		return nil, nil, errEnded
	}
	conn, buffered, err := e.takeOver()
	if err != nil {
		e.leave()
		return nil, nil, err
	}
	e.begun = true
	e.tunnel.conn = conn
	e.tunnel.open.Store(true)
	taken := &takenConn{conn, e}
	runtime.AddCleanup(taken, (*exchange).closed, e)
	if _, ok := conn.(halfCloser); ok {
		return halfTakenConn{taken}, buffered, nil
	}
	return taken, buffered, nil
}

var errEnded = errors.New("httpmw: the request has ended, its connection can no longer be taken over")

func (e *exchange) takeOver() (net.Conn, *bufio.ReadWriter, error) {
	if e.refused.Load() || e.detach().Verdict != pipeline.Admit {
		return nil, nil, ErrStreamRefused
	}
	return http.NewResponseController(e.writer).Hijack()
}

// closed releases what a connection held, once.
func (e *exchange) closed() {
	if e.tunnel.open.CompareAndSwap(true, false) {
		e.leave()
	}
}

// abort closes the connection of a handler that panicked: net/http leaves a
// hijacked one alone, and nobody else knows of it.
func (t *tunnel) abort(e *exchange) {
	if t.open.Load() {
		_ = t.conn.Close()
		e.closed()
	}
}

// takenConn is a hijacked connection, which counts until it is closed. The
// exchange must not know it, or it would never be collected.
type takenConn struct {
	net.Conn
	exchange *exchange
}

type halfCloser interface{ CloseWrite() error }

// halfTakenConn is a takenConn that can end one direction.
type halfTakenConn struct{ *takenConn }

// Close closes the connection and gives back what it held.
func (c *takenConn) Close() error {
	defer c.exchange.closed()
	return c.Conn.Close()
}

// NetConn returns the server's connection. Closing that one gives nothing back.
func (c *takenConn) NetConn() net.Conn { return c.Conn }

// ReadFrom implements io.ReaderFrom, for connections that splice.
func (c *takenConn) ReadFrom(src io.Reader) (int64, error) { return io.Copy(c.Conn, src) }

// WriteTo implements io.WriterTo, for connections that splice.
func (c *takenConn) WriteTo(dst io.Writer) (int64, error) { return io.Copy(dst, c.Conn) }

// CloseWrite tells the peer that nothing more comes.
func (c halfTakenConn) CloseWrite() error { return c.Conn.(halfCloser).CloseWrite() }
