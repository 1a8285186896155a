package admin

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// Config sets the listener's handler.
type Config struct {
	// Status tells the state of the process. It is called once for each
	// request, concurrently. Required.
	Status func() Status
	// Ready tells whether the process takes traffic; it is called like
	// Status. Required.
	Ready func() bool
	// Metrics answers what Prometheus scrapes. Required.
	Metrics http.Handler
	// Debug answers below /debug/plimsoll, as package dump does. Nil: nobody.
	Debug http.Handler
	// Hosts are the names and addresses, beside those of loopback, that
	// requests may name: others may be a page's attempt to be this host.
	// Default none.
	Hosts []string
	// AnyHost answers requests whatever host they name. Leave it off on a
	// loopback address. Default off.
	AnyHost bool
	// Closed asks also who reads status and metrics, for viewers. Leave it off
	// on a loopback address. Needs API. Default off.
	Closed bool
	// API is what changes things. Nil: nothing here does.
	API *API
}

// New makes the handler.
func New(c Config) (http.Handler, error) {
	if c.Status == nil || c.Ready == nil || c.Metrics == nil {
		return nil, errors.New("admin: Status, Ready and Metrics are required")
	}
	if err := c.API.check(c.Closed); err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(guarded, middleware.RequestID, middleware.GetHead)
	if !c.AnyHost {
		r.Use(named(c.Hosts))
	}
	r.Get("/healthz", text(http.StatusOK, "ok\n"))
	r.Get("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if !c.Ready() {
			text(http.StatusServiceUnavailable, "not ready\n")(w, r)
			return
		}
		text(http.StatusOK, "ready\n")(w, r)
	})
	open := r.With()
	if c.Closed {
		open = r.With(c.API.identified, allowed(reading))
	}
	open.Get("/status", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, c.Status()) })
	open.Method(http.MethodGet, "/metrics", c.Metrics)
	if c.Debug != nil {
		open.Mount("/debug/plimsoll", c.Debug)
	}
	if c.API != nil {
		c.API.mount(r)
	}
	return r, nil
}

// Server is an http.Server for the handler, with a bound on everything. Its
// callers are few and near.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

func text(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// guarded keeps answers out of caches and pages.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// named refuses requests that name a host elsewhere: a page whose name was
// made to lead here would be read by its browser as this host's own.
func named(hosts []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !namesLoopback(r.Host) && !slices.Contains(hosts, withoutPort(r.Host)) {
				problem(w, http.StatusMisdirectedRequest, "host", "the admin listener answers to loopback addresses and to the hosts that it is told of")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func withoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return trimBrackets(host)
}

func namesLoopback(host string) bool {
	host = withoutPort(host)
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// trimBrackets takes the brackets off an IPv6 address without a port.
func trimBrackets(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
