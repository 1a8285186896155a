package httpmw

import (
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// exempts reports whether the pipeline is not to see a request. Rules read a
// path decoded and cleaned; a server that reads it otherwise could be made to
// serve one thing as another, so only what needs neither is exempt.
func (s *settings) exempts(r *http.Request) bool {
	if len(s.Exempt) == 0 || r.URL.RawPath != "" || match.Clean(r.URL.Path) != r.URL.Path {
		return false
	}
	subject := match.Subject{Method: r.Method, Host: r.Host, Path: r.URL.Path, Header: r.Header}
	for _, m := range s.Exempt {
		if m.Match(&subject) {
			return true
		}
	}
	return false
}

// serveExempt calls the handler within the small bound of exempt requests.
func (m *Middleware) serveExempt(s *settings, w http.ResponseWriter, r *http.Request, next http.Handler) {
	defer m.exempt.Add(-1)
	if m.exempt.Add(1) <= int64(s.ExemptInFlight) {
		next.ServeHTTP(w, r)
		return
	}
	s.answer(w, r, &refused{kind: "exempt", reason: pipeline.WorkerShed, detail: pipeline.Detail{RetryAfter: time.Second}})
}
