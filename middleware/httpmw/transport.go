package httpmw

import "net/http"

// Transport sends requests with the class of the request that they are made
// for, and with the time that is left for it, as found in their context. The
// zero value is usable.
type Transport struct {
	// Base sends the requests. Default: http.DefaultTransport.
	Base http.RoundTripper
	// Propagation names the headers. Nil takes the names of the middleware
	// that admitted the request.
	Propagation *Propagation
}

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
	return base.RoundTrip(out)
}

// canonical is the same names as net/http writes them.
func (p *Propagation) canonical() *Propagation {
	return &Propagation{
		ClassHeader: http.CanonicalHeaderKey(p.ClassHeader), Scheme: p.Scheme, TimeoutHeader: http.CanonicalHeaderKey(p.TimeoutHeader),
	}
}
