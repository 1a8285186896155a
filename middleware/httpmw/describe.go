package httpmw

import (
	"context"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// describe tells the pipeline what an HTTP request is.
func (s *settings) describe(q *pipeline.Request, r *http.Request, now int64) {
	q.Method, q.Host, q.Path, q.Header = r.Method, r.Host, r.URL.Path, r.Header
	q.Now = now
	q.Deadline = s.deadline(r, now)
	who := identity.Request{Peer: r.RemoteAddr, Header: canonical(r.Header)}
	if s.Subject != nil && s.Identity.UsesSubject() {
		if name, ok := s.Subject(r); ok {
			who.Subject = name
		}
	}
	q.Caller, q.Address = s.Identity.Of(who)
	q.Class = s.classify(q, r)
	q.Cohort = priority.CohortOf(q.Caller.ID.Hi, now)
	if s.Cost != nil {
		q.Cost = max(s.Cost(r), 0)
	}
}

// canonical is the headers of a request for who asks by canonical names alone,
// as an Identity does: to make them canonical again costs as much as the look-up.
type canonical http.Header

// Values implements identity.Header.
func (h canonical) Values(name string) []string { return h[name] }

// classify gives a request its class: the rules', then what the client claims
// within its ceiling. The claim is overwritten with what holds.
func (s *settings) classify(q *pipeline.Request, r *http.Request) priority.Class {
	class := priority.Normal
	if s.Rules != nil {
		class = s.Rules.Classify(&q.Subject, q.Caller.Name)
		if hidesStructure(r.URL.RawPath) {
			class = min(class, priority.Normal)
		}
	}
	name := s.Propagation.ClassHeader
	if name == "" {
		return class
	}
	claims := r.Header[name]
	if len(claims) == 0 {
		return class
	}
	if claimed, ok := s.Propagation.lowest(claims); ok {
		ceiling := priority.Low
		if s.Ceiling != nil {
			ceiling = s.Ceiling(&q.Caller)
		}
		class = priority.Claim(class, claimed, ceiling)
	}
	claims[0] = s.Propagation.Scheme.Name(class)
	r.Header[name] = claims[:1]
	return class
}

// hidesStructure reports whether the path as it was sent hides a slash or a
// dot in an escape, so that it means one resource decoded and another one not.
func hidesStructure(rawPath string) bool {
	for i := strings.IndexByte(rawPath, '%'); i >= 0 && i+2 < len(rawPath); i++ {
		if rawPath[i] == '%' && rawPath[i+1] == '2' && (rawPath[i+2]|0x20 == 'f' || rawPath[i+2]|0x20 == 'e') {
			return true
		}
	}
	return false
}

// deadline is when the client, or the server, stops waiting: the earlier of the
// context's deadline and what the header says; 0 when neither does.
func (s *settings) deadline(r *http.Request, now int64) (deadline int64) {
	if at, ok := r.Context().Deadline(); ok {
		deadline = now + min(int64(time.Until(at)), math.MaxInt64-now)
	}
	if left, ok := s.Propagation.timeout(r.Header); ok {
		if at := now + int64(left); deadline == 0 || at < deadline {
			deadline = at
		}
	}
	return deadline
}

// SetCost says what the request that ctx belongs to cost in the end, in tokens
// and 1 or more, for limits that charge afterwards. It is for handlers that
// learn it too late for Config.CostHeader.
func SetCost(ctx context.Context, cost int64) {
	if e := exchangeOf(ctx); e != nil && cost > 0 {
		e.cost.Store(cost)
	}
}

// Describe fills in what the pipeline would be told of a request, for whoever
// asks what would become of it, and reports whether the pipeline would see it:
// not, if it is exempt. It may change the request's header for the class, as
// serving it would.
func (m *Middleware) Describe(q *pipeline.Request, r *http.Request) (seen bool) {
	s := m.settings.Load()
	s.describe(q, r, m.pipeline.Now())
	return !s.exempts(r)
}
