package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// Failure is a way in which forwarding a request fails, a closed set. The zero
// value is none.
type Failure uint8

// The failures.
const (
	NoFailure    Failure = iota
	ClientGone           // the client left before its answer was complete
	ClientSlow           // the client's body stood still
	BadRequest           // the request or its body is malformed
	BadMethod            // CONNECT
	TooLarge             // the body is longer than a handler before allows
	Unreachable          // no connection to the upstream
	Untrusted            // the upstream's certificate is not trusted
	TimedOut             // the upstream did not answer in time
	PastDeadline         // the request's own deadline has passed
	Broken               // the upstream broke off, or spoke no HTTP, before its answer
	Truncated            // the upstream broke off, or stood still, within its answer

	failureCount int = iota
)

// answer is how a failure is told to the client.
type answer struct {
	name   string
	status int
	title  string
	detail string
}

// statusClientGone is what recorders see for a client that has left; nothing
// is sent.
const statusClientGone = 499

var answers = [failureCount]answer{
	NoFailure:    {"none", http.StatusOK, "", ""},
	ClientGone:   {"client-gone", statusClientGone, "", ""},
	ClientSlow:   {"client-slow", http.StatusRequestTimeout, "Request Timeout", "The request did not arrive in time."},
	BadRequest:   {"bad-request", http.StatusBadRequest, "Bad Request", "The request is malformed."},
	BadMethod:    {"bad-method", http.StatusMethodNotAllowed, "Method Not Allowed", "This is not a forward proxy."},
	TooLarge:     {"too-large", http.StatusRequestEntityTooLarge, "Content Too Large", "The request is too large."},
	Unreachable:  {"unreachable", http.StatusBadGateway, "Bad Gateway", "The service cannot be reached."},
	Untrusted:    {"untrusted", http.StatusBadGateway, "Bad Gateway", "The service cannot be reached."},
	TimedOut:     {"timed-out", http.StatusGatewayTimeout, "Gateway Timeout", "The service did not answer in time."},
	PastDeadline: {"past-deadline", http.StatusGatewayTimeout, "Gateway Timeout", "The service did not answer in time."},
	Broken:       {"broken", http.StatusBadGateway, "Bad Gateway", "The service did not complete its answer."},
	Truncated:    {"truncated", http.StatusBadGateway, "Bad Gateway", "The service did not complete its answer."},
}

// String is the failure's name as a label.
func (f Failure) String() string { return answers[f].name }

// Status is the status that a client gets; 499, which nobody gets, for one
// that has left.
func (f Failure) Status() int { return answers[f].status }

// write answers with a problem document (RFC 9457). It says nothing that is
// not the same for every client.
func (f Failure) write(w http.ResponseWriter, r *http.Request) {
	a := &answers[f]
	if f == ClientGone {
		w.WriteHeader(a.status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if r.ProtoMajor < 2 && (f == ClientSlow || f == BadRequest || f == BadMethod) {
		h.Set("Connection", "close") // where the next request begins is not certain
	}
	body := `{"type":"about:blank","title":"` + a.title + `","status":` + strconv.Itoa(a.status) + `,"detail":"` + a.detail + "\"}\n"
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte(body)) // a client that does not read it has left
}

// fail answers a request that the upstream has not answered.
func (p *Proxy) fail(w http.ResponseWriter, out *http.Request, err error) {
	f := classify(out, err)
	p.failures.add(f, err)
	f.write(w, out)
}

// classify finds out whose failure it is. The client's body comes first: its
// failure also ends the request's context.
func classify(out *http.Request, err error) Failure {
	if bodyErr := bodyError(out); bodyErr != nil {
		return classifyBody(out, bodyErr)
	}
	switch ctx := out.Context().Err(); {
	case ctx == context.Canceled, strings.HasPrefix(err.Error(), "response "): // "response write" and "flush", of an upgrade
		return ClientGone
	case ctx == context.DeadlineExceeded:
		return PastDeadline
	}
	return classifyUpstream(err)
}

func classifyBody(out *http.Request, err error) Failure {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return TooLarge
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ClientSlow
	case out.Context().Err() != nil: // net/http has lost the connection
		return ClientGone
	}
	return BadRequest
}

func classifyUpstream(err error) Failure {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Untrusted
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return TimedOut
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return Unreachable
	}
	return Broken
}
