package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// watch looks after the answer of the upstream while it is copied.
func (p *Proxy) watch(res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil // its body is a connection
	}
	res.Header.Del("Alt-Svc") // it would lead clients around the proxy
	if len(res.Trailer) > 0 && res.Request.ProtoMajor < 2 {
		res.Header.Del("Content-Length") // HTTP/1 has trailers after chunks alone, HTTP/2 after a known length too
	}
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
