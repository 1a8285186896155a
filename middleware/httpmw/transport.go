package httpmw

import (
	"net/http"
	"slices"
)

// Transport sends requests with the class of the request that they are made
// for, with the time that is left for it, and with its trace, as found in their
// context. The zero value is usable.
type Transport struct {
	// Base sends the requests. Default: http.DefaultTransport.
	Base http.RoundTripper
	// Propagation names the headers. Nil takes the names of the middleware
	// that admitted the request.
	Propagation *Propagation
	// Carried names headers that travel on as they came where the outgoing
	// request has none of that name: with no SDK between, a trace goes on
	// through this service. Default: traceparent, tracestate and baggage; an
	// empty list is none, for requests to those whom baggage does not concern.
	Carried []string
}

// carried is what Transport.Carried is by default.
var carried = []string{"Traceparent", "Tracestate", "Baggage"}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip implements http.RoundTripper. Requests that are made for no
// admitted request are sent as they are.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	e := exchangeOf(r.Context())
	if e == nil {
		return base.RoundTrip(r)
	}
	p := t.Propagation
	if p == nil {
		p = &e.settings.Propagation
	}
	out := r.WithContext(r.Context()) // a RoundTripper leaves the request alone
	out.Header = r.Header.Clone()
	if out.Header == nil {
		out.Header = http.Header{}
	}
	e.forward(r.Context(), p.canonical(), out.Header)
	t.carry(out.Header, e.incoming.Header)
	return base.RoundTrip(out)
}

// carry copies what travels on. A trace is carried whole or not: its state
// belongs to its parent.
func (t *Transport) carry(out, in http.Header) {
	names := t.Carried
	if names == nil {
		names = carried
	}
	own := out["Traceparent"] != nil
	for _, name := range names {
		name = http.CanonicalHeaderKey(name)
		if out[name] != nil || own && name == "Tracestate" {
			continue
		}
		if lines := in[name]; lines != nil {
			out[name] = slices.Clone(lines)
		}
	}
}

// canonical is the same names as net/http writes them.
func (p *Propagation) canonical() *Propagation {
	return &Propagation{
		ClassHeader: http.CanonicalHeaderKey(p.ClassHeader), Scheme: p.Scheme, TimeoutHeader: http.CanonicalHeaderKey(p.TimeoutHeader),
	}
}
