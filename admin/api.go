package admin

import (
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// API is what the authenticated part needs. Who may ask for what is said by
// the table of routes.
type API struct {
	// Control is the control plane. Required.
	Control *control.Control
	// Tokens are the keys. Required.
	Tokens *Tokens
	// Certificates gives the name and the role of whoever showed a client
	// certificate that the listener has verified; Nobody refuses it. Nil:
	// certificates count for nothing.
	Certificates func(*x509.Certificate) (name string, role Role)
	// Brake slows down whoever guesses tokens. Required.
	Brake Brake
	// Insight is what the process remembers of the last minutes. Nil: nothing.
	Insight *insight.Recorder
	// Timeline is what happened in the last hour, oldest first. Nil: what Insight
	// was told.
	Timeline func() []insight.Event
	// Holders lists requests in flight, at most n. Nil: none is told.
	Holders func(n int) []pipeline.Holder
	// Status is what an incident's report tells of the process. Nil: nothing.
	Status func() Status
	// Explain describes an imagined request as a real one would be, and says
	// what would become of it; seen is false when the pipeline would not see
	// it. Nil: nothing is told.
	Explain func(q *pipeline.Request, r *http.Request) (x pipeline.Explanation, seen bool)
	// Profiling serves profiles of the process to administrators, below
	// /debug/pprof. Default off.
	Profiling bool
	// Live is what a stream of events tells each second.
	Live func() any
}

// check names what is missing.
func (a *API) check(needed bool) error {
	switch {
	case a == nil && needed:
		return errors.New("admin: Closed needs an API, which knows who may read")
	case a == nil:
		return nil
	case a.Control == nil || a.Tokens == nil || a.Brake == nil:
		return errors.New("admin: Control, Tokens and Brake are required")
	}
	return nil
}

// Brake counts failed attempts, by the address they come from and in all. The
// methods are called concurrently.
type Brake interface {
	// Wait is how long a source has to wait before it may try at all; 0: not.
	Wait(source string) time.Duration
	// Failed counts one failure, and reports whether it was the one after
	// which the source has to wait.
	Failed(source string) bool
}

// route is a line of the table.
type route struct {
	method, path string
	right        right
	handle       http.HandlerFunc
}

// routes are all of the API. A route without a right cannot be written down.
func (a *API) routes() []route {
	return []route{
		{"GET", "/v1/whoami", reading, a.whoami},
		{"GET", "/v1/overrides", reading, a.overrides},
		{"POST", "/v1/overrides", acting, a.create},
		{"GET", "/v1/overrides/{id}", reading, a.override},
		{"DELETE", "/v1/overrides/{id}", acting, a.change(control.Revoke)},
		{"POST", "/v1/overrides/{id}/extend", acting, a.change(control.Extend)},
		{"POST", "/v1/overrides/{id}/approve", acting, a.change(control.Approve)},
		{"POST", "/v1/undo", acting, a.change(control.Undo)},
		{"GET", "/v1/audit", auditing, a.audit},
		{"GET", "/v1/audit/verify", auditing, a.verify},
		{"GET", "/v1/tokens", ruling, a.tokens},
		{"POST", "/v1/tokens", ruling, a.createToken},
		{"DELETE", "/v1/tokens/{id}", ruling, a.revokeToken},
		{"GET", "/v1/events", reading, a.events},
		{"GET", "/v1/openapi.json", reading, openAPI},
		{"POST", "/v1/preview", reading, a.preview},
		{"POST", "/v1/explain", reading, a.explain},
		{"GET", "/v1/top", reading, a.top},
		{"GET", "/v1/timeline", reading, a.timeline},
		{"GET", "/v1/decisions/{id}", reading, a.decision},
		{"GET", "/v1/refusals", reading, a.refusals},
		{"GET", "/v1/work", reading, a.work},
		{"GET", "/v1/holders", reading, a.holders},
		{"GET", "/v1/report", reporting, a.report},
	}
}

// mount puts the API on a router.
func (a *API) mount(r chi.Router) {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		problem(w, http.StatusForbidden, "cross-origin", "")
	}))
	r.Group(func(r chi.Router) {
		r.Use(protection.Handler, a.identified)
		for _, route := range a.routes() {
			r.With(allowed(route.right)).Method(route.method, route.path, route.handle)
		}
		if a.Profiling {
			r.With(allowed(ruling)).Route("/debug/pprof", profiles)
		}
	})
}
