package httpmw

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// shape is the ResponseWriter for the handler. It can do what the server's can
// do and no more, because handlers ask by type assertion: without Hijack there
// is no WebSocket, with one that always fails there is no fallback.
func (e *exchange) shape() http.ResponseWriter {
	if hijacks(e.writer) {
		return hijackWriter{flushWriter{writer{e}}}
	}
	switch e.writer.(type) {
	case http.Pusher:
		return pushWriter{flushWriter{writer{e}}}
	case http.Flusher:
		return flushWriter{writer{e}}
	}
	return writer{e}
}

// hijacks looks through wrappers as http.ResponseController does, so that no
// Hijack gets past the exchange.
func hijacks(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case http.Hijacker:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}

// writer is what each shape can do. All shapes are one pointer.
type writer struct{ *exchange }

type flushWriter struct{ writer }

type hijackWriter struct{ flushWriter }

type pushWriter struct{ flushWriter }

// Header implements http.ResponseWriter.
func (w writer) Header() http.Header {
	w.asked = true
	return w.exchange.writer.Header()
}

// Unwrap lets http.ResponseController find deadlines and full duplex.
func (w writer) Unwrap() http.ResponseWriter { return w.exchange.writer }

// WriteHeader implements http.ResponseWriter.
func (w writer) WriteHeader(status int) {
	interim := status >= 100 && status < 200 && status != http.StatusSwitchingProtocols
	if interim || w.begun {
		if !w.refused.Load() {
			w.exchange.writer.WriteHeader(status) // the server complains of a second one
		}
		return
	}
	if w.begin(status) {
		w.exchange.writer.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (w writer) Write(p []byte) (int, error) {
	if !w.writable() {
		return 0, ErrStreamRefused
	}
	return w.exchange.writer.Write(p)
}

// WriteString implements io.StringWriter.
func (w writer) WriteString(s string) (int, error) {
	if !w.writable() {
		return 0, ErrStreamRefused
	}
	return io.WriteString(w.exchange.writer, s)
}

// FlushError is what http.ResponseController flushes by.
func (w writer) FlushError() error {
	if !w.writable() {
		return ErrStreamRefused
	}
	return http.NewResponseController(w.exchange.writer).Flush()
}

// writable begins the answer if nothing has, and reports whether it is still
// the handler's.
func (e *exchange) writable() bool {
	if !e.begun {
		return e.begin(http.StatusOK)
	}
	return !e.refused.Load()
}

// Flush implements http.Flusher.
func (w flushWriter) Flush() { _ = w.FlushError() }

// ReadFrom implements io.ReaderFrom: the server copies files without us.
func (w hijackWriter) ReadFrom(src io.Reader) (int64, error) {
	if !w.writable() {
		return 0, ErrStreamRefused
	}
	return io.Copy(w.exchange.writer, src)
}

// Hijack implements http.Hijacker.
func (w hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.exchange.hijack() }

// Push implements http.Pusher.
func (w pushWriter) Push(target string, opts *http.PushOptions) error {
	return w.exchange.writer.(http.Pusher).Push(target, opts)
}
