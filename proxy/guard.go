package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// poison stands in for whatever follows when nobody can be sure where a request
// ends. It is wrong wherever a line may be in a header, a chunk's size, the end
// of a chunk, or a trailer, so net/http answers 400 and closes: in its place,
// after the answers to earlier requests, which an error of Read would disturb.
const poison = "\x00\r\r\n\r\n"

// guard is a connection of HTTP/1 whose requests net/http sees only if their
// framing has one meaning, and whose bodies must not stand still. One
// goroutine reads at a time, as net/http and hijackers do.
type guard struct {
	net.Conn
	framing framing
	faults  *atomic.Uint64 // faulty messages of all connections
	silence time.Duration  // longest pause within a body

	tunnel   atomic.Bool  // hijacked: the bytes are not requests any more
	explicit atomic.Bool  // whoever holds the connection has set a read deadline
	armed    atomic.Int64 // when the deadline of the body was set, Unix nanoseconds; 0: it is not
	left     string       // of the poison
	failed   error        // what every later Read answers
}

// Read implements net.Conn.
func (g *guard) Read(p []byte) (int, error) {
	if g.tunnel.Load() {
		return g.Conn.Read(p)
	}
	if g.failed != nil {
		n := copy(p, g.left)
		if g.left = g.left[n:]; n > 0 {
			return n, nil
		}
		return 0, g.failed
	}
	g.arm()
	n, err := g.Conn.Read(p)
	n = g.inspect(p, n)
	if n == 0 && g.failed != nil && len(p) > 0 {
		return g.Read(p)
	}
	return n, err
}

// inspect returns how many of the bytes just read may be passed on.
func (g *guard) inspect(p []byte, n int) int {
	if n <= 0 {
		return n
	}
	good, fault := g.framing.scan(p[:n])
	if fault == nil {
		return n
	}
	g.faults.Add(1)
	g.left, g.failed = poison, io.EOF
	return good
}

// arm gives the peer a while to send more of a body. net/http sets no deadline
// there but one of its own choice, and clears it before it watches the
// connection for the client's leaving.
func (g *guard) arm() {
	if g.silence <= 0 || !g.framing.inMessage() || g.explicit.Load() {
		return
	}
	now := time.Now()
	if now.UnixNano()-g.armed.Load() < int64(g.silence/8) {
		return
	}
	g.armed.Store(now.UnixNano())
	_ = g.Conn.SetReadDeadline(now.Add(g.silence))
}

// SetReadDeadline implements net.Conn.
func (g *guard) SetReadDeadline(t time.Time) error {
	g.note(t)
	return g.Conn.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (g *guard) SetDeadline(t time.Time) error {
	g.note(t)
	return g.Conn.SetDeadline(t)
}

func (g *guard) note(t time.Time) {
	g.explicit.Store(!t.IsZero())
	g.armed.Store(0)
}

// CloseWrite tells the peer that nothing more comes; net/http needs it to get
// an early answer through to a client that is still sending.
func (g *guard) CloseWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return net.ErrClosed
}

// passThrough stops looking: the connection does not speak HTTP/1 any more.
func (g *guard) passThrough() { g.tunnel.Store(true) }

// NetConn returns the connection beneath.
func (g *guard) NetConn() net.Conn { return g.Conn }

// tlsGuard is a guard over TLS. net/http fills Request.TLS from it.
type tlsGuard struct {
	*guard
	conn *tls.Conn
}

// ConnectionState is what net/http asks for.
func (g *tlsGuard) ConnectionState() tls.ConnectionState { return g.conn.ConnectionState() }
