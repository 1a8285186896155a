package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// intake accepts connections for an http.Server: no more than there is room
// for, with the TLS handshake done and the framing guarded.
type intake struct {
	inner    net.Listener
	config   *ServerConfig
	tls      *tls.Config // nil: plain
	counts   *serverCounts
	room     chan struct{} // a token for each open connection
	ready    chan net.Conn
	waiting  atomic.Bool // no room: a connection that becomes idle shall go
	stopping context.Context
	stop     context.CancelFunc

	mu   sync.Mutex
	open map[*conn]struct{}

	emptied chan struct{} // a token after the last connection has left
}

func newIntake(inner net.Listener, s *Server) *intake {
	l := &intake{
		inner: inner, config: &s.config, tls: s.tls, counts: &s.counts,
		room:  make(chan struct{}, s.config.MaxConns),
		ready: make(chan net.Conn),
		open:  make(map[*conn]struct{}), emptied: make(chan struct{}, 1),
	}
	l.stopping, l.stop = context.WithCancel(context.Background())
	return l
}

// Accept implements net.Listener.
func (l *intake) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.stopping.Done():
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *intake) Addr() net.Addr { return l.inner.Addr() }

// Close implements net.Listener.
func (l *intake) Close() error {
	l.stop()
	return l.inner.Close()
}

// run accepts until the listener is closed, and waits for the handshakes that
// it has started.
func (l *intake) run() {
	var handshakes sync.WaitGroup
	defer handshakes.Wait()
	defer l.stop()
	pause := time.Duration(0)
	for {
		raw, err := l.inner.Accept()
		switch {
		case err == nil:
			pause = 0
			l.receive(raw, &handshakes)
		case errors.Is(err, net.ErrClosed) || !l.rest(&pause):
			return
		}
	}
}

// receive finds room for a connection and prepares it for the server.
func (l *intake) receive(raw net.Conn, handshakes *sync.WaitGroup) {
	if !l.makeRoom() {
		_ = raw.Close()
		return
	}
	c := l.admit(raw)
	if l.tls == nil {
		l.deliver(c, l.guard(c))
		return
	}
	handshakes.Go(func() { l.handshake(c) })
}

// rest waits after a failure to accept, such as too many open files: longer
// each time, up to a second.
func (l *intake) rest(pause *time.Duration) bool {
	l.counts.accepts.Add(1)
	*pause = min(max(2**pause, 5*time.Millisecond), time.Second)
	select {
	case <-time.After(*pause):
		return true
	case <-l.stopping.Done():
		return false
	}
}

// makeRoom waits for room for one more connection.
func (l *intake) makeRoom() bool {
	select {
	case l.room <- struct{}{}:
		return true
	default:
	}
	l.counts.full.Add(1)
	l.waiting.Store(true)
	defer l.waiting.Store(false)
	l.closeIdlest()
	select {
	case l.room <- struct{}{}:
		return true
	case <-l.stopping.Done():
		return false
	}
}

// closeIdlest closes the connection that has been idle longest, if any is.
func (l *intake) closeIdlest() {
	var idlest *conn
	l.mu.Lock()
	for c := range l.open {
		if since := c.idleSince.Load(); since != 0 && (idlest == nil || since < idlest.idleSince.Load()) {
			idlest = c
		}
	}
	l.mu.Unlock()
	if idlest != nil {
		_ = idlest.Close()
	}
}

func (l *intake) admit(raw net.Conn) *conn {
	c := &conn{Conn: raw, silence: l.config.WriteSilence, leave: l.leave}
	c.budget.most = l.config.MaxResets
	l.mu.Lock()
	l.open[c] = struct{}{}
	l.mu.Unlock()
	return c
}

func (l *intake) leave(c *conn) {
	l.mu.Lock()
	delete(l.open, c)
	empty := len(l.open) == 0
	l.mu.Unlock()
	<-l.room
	if empty {
		select {
		case l.emptied <- struct{}{}:
		default:
		}
	}
}

// wait waits until no connection is open.
func (l *intake) wait(ctx context.Context) {
	for l.size() > 0 {
		select {
		case <-l.emptied:
		case <-ctx.Done():
			return
		}
	}
}

func (l *intake) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// cut closes all connections and says how many there were.
func (l *intake) cut() int {
	l.mu.Lock()
	left := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, c := range left {
		_ = c.Close()
	}
	return len(left)
}

// deliver hands a connection to the server.
func (l *intake) deliver(c *conn, served net.Conn) {
	select {
	case l.ready <- served:
	case <-l.stopping.Done():
		_ = c.Close()
	}
}

// handshake makes TLS. HTTP/2 is served on the TLS connection as it is, which
// net/http wants to see; HTTP/1 through a guard.
func (l *intake) handshake(c *conn) {
	secure := tls.Server(c, l.tls)
	ctx, cancel := context.WithTimeout(l.stopping, l.config.ReadHeaderTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		l.counts.handshakes.Add(1)
		answerPlain(err)
		_ = c.Close()
		return
	}
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		l.deliver(c, secure)
		return
	}
	l.deliver(c, &tlsGuard{guard: l.guard(secure), conn: secure})
}

// answerPlain tells a client that it forgot about TLS.
func answerPlain(err error) {
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && e.Conn != nil && looksLikeHTTP(e.RecordHeader) {
		_, _ = io.WriteString(e.Conn, "HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nThis port speaks HTTPS.\n")
	}
}

func looksLikeHTTP(start [5]byte) bool {
	switch string(start[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		return true
	}
	return false
}

func (l *intake) guard(c net.Conn) *guard {
	return &guard{
		Conn: c, faults: &l.counts.malformed, silence: l.config.BodySilence,
		framing: framing{allowHTTP2: l.config.H2C},
	}
}

// note follows the state of a connection for http.Server.
func (l *intake) note(served net.Conn, state http.ConnState) {
	c := beneath(served)
	switch state {
	case http.StateIdle:
		c.idleSince.Store(time.Now().UnixNano())
		if l.waiting.Load() {
			_ = c.Close()
		}
	case http.StateHijacked:
		c.hijacked.Store(true)
		if g, ok := served.(interface{ passThrough() }); ok {
			g.passThrough()
		}
		c.idleSince.Store(0)
	default:
		c.idleSince.Store(0)
	}
}
