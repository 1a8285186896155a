package proxy

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// hijacker hands out the client's connection as a tunnel when it is upgraded.
type hijacker struct {
	http.ResponseWriter
	silence time.Duration
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return newTunnel(c, rw.Reader, h.silence), rw, nil
}

// Unwrap is for http.ResponseController.
func (h *hijacker) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// tunnel is the client's end of an upgraded connection, through which both
// directions pass. It is closed when nothing has passed for a while, which
// ends the other end, too.
type tunnel struct {
	net.Conn
	early   *bufio.Reader // what the client sent before it was told of the upgrade
	silence time.Duration // 0: no bound
	timer   *time.Timer   // nil: no bound
	closed  atomic.Bool
}

func newTunnel(c net.Conn, early *bufio.Reader, silence time.Duration) *tunnel {
	t := &tunnel{Conn: c, early: early, silence: silence}
	if silence > 0 {
		t.timer = time.AfterFunc(silence, func() { _ = c.Close() })
	}
	return t
}

// Read implements io.Reader: from the client to the upstream.
func (t *tunnel) Read(p []byte) (n int, err error) {
	if ready := t.early.Buffered(); ready > 0 {
		n, err = t.early.Read(p[:min(ready, len(p))])
	} else {
		n, err = t.Conn.Read(p)
	}
	t.wind()
	return n, err
}

// Write implements io.Writer: from the upstream to the client.
func (t *tunnel) Write(p []byte) (int, error) {
	t.wind()
	return t.Conn.Write(p)
}

// wind gives both ends another while.
func (t *tunnel) wind() {
	if t.timer != nil && !t.closed.Load() {
		t.timer.Reset(t.silence)
	}
}

// CloseWrite tells the client that the upstream sends no more.
func (t *tunnel) CloseWrite() error {
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported // ends the tunnel: the client would wait for ever
}

// Close implements io.Closer.
func (t *tunnel) Close() error {
	t.closed.Store(true)
	if t.timer != nil {
		t.timer.Stop()
	}
	return t.Conn.Close()
}
