package proxy

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a connection from a client, beneath TLS. It holds a place among the
// server's connections until it is closed, and ends a peer that takes nothing
// of what is written.
type conn struct {
	net.Conn
	silence time.Duration // longest time in which the peer takes no byte; 0: no bound
	leave   func(*conn)
	once    sync.Once

	idleSince atomic.Int64 // Unix nanoseconds; 0: it serves a request
	hijacked  atomic.Bool
	budget    resetBudget
	flooded   atomic.Bool

	explicit atomic.Int64 // write deadline of whoever holds the connection, Unix nanoseconds; 0: none
	armed    atomic.Int64 // when the write deadline was last set here
}

// Close implements net.Conn. The place is free at once.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.leave(c) })
	return err
}

// CloseWrite tells the peer that nothing more comes.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.silence > 0 {
		c.arm(time.Now())
	}
	return c.Conn.Write(p)
}

// arm moves the write deadline, unless its holder has set one that comes
// earlier. A deadline that is an eighth too early does for the next writes.
func (c *conn) arm(now time.Time) {
	at, armed := now.UnixNano(), c.armed.Load()
	if at-armed < int64(c.silence/8) || !c.armed.CompareAndSwap(armed, at) {
		return
	}
	deadline := now.Add(c.silence)
	if explicit := c.explicit.Load(); explicit != 0 && explicit < deadline.UnixNano() {
		return
	}
	_ = c.Conn.SetWriteDeadline(deadline)
}

// SetWriteDeadline implements net.Conn. net/http takes a deadline back after
// each request, which says nothing when it has set none.
func (c *conn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() && c.silence > 0 && c.explicit.Load() == 0 {
		return nil
	}
	c.note(t)
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.note(t)
	return c.Conn.SetDeadline(t)
}

func (c *conn) note(t time.Time) {
	c.armed.Store(0) // the next write counts anew
	if t.IsZero() {
		c.explicit.Store(0)
		return
	}
	c.explicit.Store(t.UnixNano())
}

// beneath finds the conn under the layers that a server puts on it.
func beneath(c net.Conn) *conn {
	for {
		switch layer := c.(type) {
		case *conn:
			return layer
		case interface{ NetConn() net.Conn }:
			c = layer.NetConn()
		default:
			return nil
		}
	}
}
