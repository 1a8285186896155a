package proxy

import (
	"io"
	"net/http"
	"sync/atomic"
)

// sentBody is the body of a request on its way. It remembers why reading it
// failed, which is the client's doing and not the upstream's, and passes
// trailers on.
type sentBody struct {
	io.ReadCloser
	out, in *http.Request
	failed  atomic.Pointer[error] // the transport reads in a goroutine of its own
}

// watchBody puts a sentBody around a body, if there is one.
func watchBody(out, in *http.Request) {
	if out.Body == nil || out.Body == http.NoBody {
		return
	}
	out.Body = &sentBody{ReadCloser: out.Body, out: out, in: in}
	if len(out.Trailer) > 0 {
		out.ContentLength = -1 // trailers need chunks
		out.Header.Del("Content-Length")
	}
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.trailers()
	case err != nil:
		b.failed.Store(&err)
	}
	return n, err
}

// trailers fills in the trailers that the client has announced; only those:
// a name that was not announced has passed no check.
func (b *sentBody) trailers() {
	for name := range b.out.Trailer {
		b.out.Trailer[name] = b.in.Trailer[name]
	}
}

// bodyError is why the body of a request to the upstream could not be read, or
// nil.
func bodyError(out *http.Request) error {
	if b, ok := out.Body.(*sentBody); ok {
		if err := b.failed.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// leaver passes all on but the upstream's leave to send the body. The body is
// read when that has come, and then the server gives the client its own; which
// of the two came first would be chance, and the later one a second leave.
type leaver struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w leaver) WriteHeader(status int) {
	if status != http.StatusContinue {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap lets http.ResponseController find what the writer can do beside.
func (w leaver) Unwrap() http.ResponseWriter { return w.ResponseWriter }
