package admin

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
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
	// AnyHost answers requests whatever host they name. Leave it off on a
	// loopback address. Default off.
	AnyHost bool
}

// New makes the handler.
func New(c Config) (http.Handler, error) {
	if c.Status == nil || c.Ready == nil || c.Metrics == nil {
		return nil, errors.New("admin: Status, Ready and Metrics are required")
	}
	r := chi.NewRouter()
	r.Use(guarded, middleware.GetHead)
	if !c.AnyHost {
		r.Use(loopbackOnly)
	}
	r.Get("/healthz", text(http.StatusOK, "ok\n"))
	r.Get("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if !c.Ready() {
			text(http.StatusServiceUnavailable, "not ready\n")(w, r)
			return
		}
		text(http.StatusOK, "ready\n")(w, r)
	})
	r.Get("/status", func(w http.ResponseWriter, _ *http.Request) { status(w, c.Status()) })
	r.Method(http.MethodGet, "/metrics", c.Metrics)
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

func status(w http.ResponseWriter, s Status) {
	w.Header().Set("Content-Type", "application/json")
	to := json.NewEncoder(w)
	to.SetIndent("", "  ")
	_ = to.Encode(s) // an error here is the client's connection
}

// guarded keeps answers out of caches and pages.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// loopbackOnly refuses requests that name a host elsewhere: a page whose name
// was made to lead here would be read by its browser as this host's own.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !namesLoopback(r.Host) {
			http.Error(w, "the admin listener answers to loopback addresses only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func namesLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(trimBrackets(host))
	return err == nil && address.IsLoopback()
}

// trimBrackets takes the brackets off an IPv6 address without a port.
func trimBrackets(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
