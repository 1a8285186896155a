package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// watch looks after the answer of the upstream while it is copied.
func (p *Proxy) watch(res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols {
		if stream, ok := res.Body.(io.ReadWriteCloser); ok && p.config.Timeouts.Upgraded > 0 {
			res.Body = watchTunnel(stream, p.config.Timeouts.Upgraded)
		}
		return nil
	}
	res.Header.Del("Alt-Svc") // it would lead clients around the proxy
	if res.Body != http.NoBody {
		res.Body = &answerBody{ReadCloser: res.Body, proxy: p, request: res.Request}
	}
	return nil
}

// answerBody is the body of an answer. It ends an upstream that stands still,
// and counts answers that break off.
type answerBody struct {
	io.ReadCloser
	proxy   *Proxy
	request *http.Request
	timer   *time.Timer
	ended   bool // by the upstream, well or badly
}

// Read implements io.Reader.
func (b *answerBody) Read(p []byte) (int, error) {
	b.wind()
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.ended {
		b.ended = true
		b.count(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	if !b.ended {
		b.ended = true
		b.proxy.failures.add(ClientGone, nil) // nobody stops reading before the end but for a failed write
	}
	return b.ReadCloser.Close()
}

// wind gives the upstream another while for its next bytes.
func (b *answerBody) wind() {
	silence := b.proxy.config.Timeouts.Silence
	switch {
	case silence <= 0:
	case b.timer == nil:
		b.timer = time.AfterFunc(silence, b.expire)
	default:
		b.timer.Reset(silence)
	}
}

// expire ends the Read that waits.
func (b *answerBody) expire() { _ = b.ReadCloser.Close() }

func (b *answerBody) count(err error) {
	switch {
	case errors.Is(err, io.EOF):
	case b.request.Context().Err() == context.Canceled:
		b.proxy.failures.add(ClientGone, nil)
	case b.request.Context().Err() != nil:
		b.proxy.failures.add(PastDeadline, err)
	default:
		b.proxy.failures.add(Truncated, err)
	}
}

// tunnel is an upgraded connection to the upstream: both directions pass
// through it. It ends when nothing has passed for a while.
type tunnel struct {
	io.ReadWriteCloser
	timer   *time.Timer
	silence time.Duration
	closed  atomic.Bool
}

func watchTunnel(stream io.ReadWriteCloser, silence time.Duration) *tunnel {
	end := time.AfterFunc(silence, func() { _ = stream.Close() })
	return &tunnel{ReadWriteCloser: stream, timer: end, silence: silence}
}

// Read implements io.Reader: from the upstream to the client.
func (t *tunnel) Read(p []byte) (int, error) {
	n, err := t.ReadWriteCloser.Read(p)
	t.wind()
	return n, err
}

// Write implements io.Writer: from the client to the upstream.
func (t *tunnel) Write(p []byte) (int, error) {
	t.wind()
	return t.ReadWriteCloser.Write(p)
}

func (t *tunnel) wind() {
	if !t.closed.Load() {
		t.timer.Reset(t.silence)
	}
}

// CloseWrite passes on that the client sends no more.
func (t *tunnel) CloseWrite() error {
	if half, ok := t.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported // ends the tunnel: the upstream would wait for ever
}

// Close implements io.Closer.
func (t *tunnel) Close() error {
	t.closed.Store(true)
	t.timer.Stop()
	return t.ReadWriteCloser.Close()
}
