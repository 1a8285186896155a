package proxy

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// resetBudget tells clients that cancel requests from ones that do nothing
// else. An early reset costs one, a request that finishes gives one back.
type resetBudget struct {
	most  int
	spent atomic.Int64
}

func (b *resetBudget) exceeded() bool { return b.spent.Load() > int64(b.most) }

func (b *resetBudget) reset() { b.spent.Add(1) }

func (b *resetBudget) finish() {
	for spent := b.spent.Load(); spent > 0; spent = b.spent.Load() {
		if b.spent.CompareAndSwap(spent, spent-1) {
			return
		}
	}
}

// earlyReset is how soon after its start a cancelled request counts as taken
// back at once. A client may well tire of a stream.
const earlyReset = time.Second

// serveStream serves a request of HTTP/2.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request, c *conn) {
	if c.budget.exceeded() {
		panic(http.ErrAbortHandler) // one that waited when the connection was closed
	}
	start := time.Now()
	defer func() { s.settle(r, c, time.Since(start)) }()
	control := http.NewResponseController(w)
	if s.config.BodySilence > 0 && r.Body != http.NoBody {
		r.Body = &streamBody{ReadCloser: r.Body, control: control, silence: s.config.BodySilence}
	}
	if s.config.WriteSilence > 0 && s.config.WriteTimeout == 0 {
		w = &streamWriter{ResponseWriter: w, control: control, silence: s.config.WriteSilence}
	}
	s.handler.ServeHTTP(w, r)
}

// settle charges a request that was cancelled early, and closes the connection
// when that is all it is used for.
func (s *Server) settle(r *http.Request, c *conn, took time.Duration) {
	switch {
	case r.Context().Err() == nil:
		c.budget.finish()
		return
	case took >= earlyReset:
		return
	}
	if c.budget.reset(); c.budget.exceeded() && !c.flooded.Swap(true) {
		s.counts.floods.Add(1)
		_ = c.Close()
	}
}

// streamBody is the body of a request of HTTP/2, which must not stand still.
// HTTP/1 has its guard for that.
type streamBody struct {
	io.ReadCloser
	control *http.ResponseController
	silence time.Duration
	armed   time.Time
}

// Read implements io.Reader.
func (b *streamBody) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.armed) >= b.silence/8 {
		b.armed = now
		_ = b.control.SetReadDeadline(now.Add(b.silence)) // no deadline is what there was before
	}
	return b.ReadCloser.Read(p)
}

// streamWriter ends a request of HTTP/2 whose client takes nothing of the
// answer: while it grants no window, nothing is written to its connection that
// could fail.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	silence time.Duration
	armed   time.Time
}

// Write implements io.Writer.
func (w *streamWriter) Write(p []byte) (int, error) {
	w.arm()
	return w.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController.
func (w *streamWriter) FlushError() error {
	w.arm()
	return w.control.Flush()
}

// Flush implements http.Flusher.
func (w *streamWriter) Flush() { _ = w.FlushError() }

// Unwrap is for http.ResponseController.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *streamWriter) arm() {
	if now := time.Now(); now.Sub(w.armed) >= w.silence/8 {
		w.armed = now
		_ = w.control.SetWriteDeadline(now.Add(w.silence)) // no deadline is what there was before
	}
}
