package admin

import (
	"net/http/pprof"

	"github.com/go-chi/chi/v5"
)

// profiles serves what net/http/pprof would put on everybody's default mux:
// the package is asked by name here, and that mux is served nowhere.
func profiles(r chi.Router) {
	r.Get("/", pprof.Index)
	r.Get("/cmdline", pprof.Cmdline)
	r.Get("/profile", pprof.Profile)
	r.Get("/symbol", pprof.Symbol)
	r.Get("/trace", pprof.Trace)
	for _, name := range []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		r.Method("GET", "/"+name, pprof.Handler(name))
	}
}
