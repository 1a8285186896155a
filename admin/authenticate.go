package admin

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/plimsoll-go/plimsoll/control"
)

// Person is who asks.
type Person struct {
	Name   string `json:"name"`
	Role   Role   `json:"role"`
	Method string `json:"method"` // token, mtls or socket
	// LocalOnly says that changes hold in this worker alone: who comes by the
	// socket is known to this machine, not to the fleet.
	LocalOnly bool `json:"local_only,omitzero"`

	source string
}

// actor is the person as the audit trail has it.
func (p *Person) actor() control.Actor {
	return control.Actor{Name: p.Name, Method: p.Method, Source: p.source, Admin: p.Role == Admin}
}

type personKey struct{}

// BySocket marks what comes over a unix socket, whose file's permissions say
// who may: such a person is a responder in this worker alone.
func BySocket(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, personKey{}, &Person{Name: name, Role: Responder, Method: "socket", LocalOnly: true})
}

func person(r *http.Request) *Person {
	p, _ := r.Context().Value(personKey{}).(*Person)
	return p
}

// identified finds out who asks, and refuses who is not known.
func (a *API) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := person(r)
		if p == nil {
			p = a.certified(r)
		}
		if p == nil {
			if p = a.tokened(w, r); p == nil {
				return
			}
		}
		p.source = source(r)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, p)))
	})
}

// certified is the holder of a client certificate, if there is one.
func (a *API) certified(r *http.Request) *Person {
	if a.Certificates == nil || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	name, role := a.Certificates(r.TLS.VerifiedChains[0][0])
	if role == Nobody {
		return nil
	}
	return &Person{Name: name, Role: role, Method: "mtls"}
}

// tokened is the holder of a token. It answers who has none.
func (a *API) tokened(w http.ResponseWriter, r *http.Request) *Person {
	from := source(r)
	if wait := a.Brake.Wait(from); wait > 0 {
		later(w, wait)
		problem(w, http.StatusTooManyRequests, "too-many", "")
		return nil
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="plimsoll"`)
		problem(w, http.StatusUnauthorized, "unauthenticated", "a token is needed: Authorization: Bearer plimsoll_…")
		return nil
	}
	if token, ok := a.Tokens.Find(r.Context(), strings.TrimSpace(secret)); ok {
		return &Person{Name: token.Name, Role: token.Role, Method: "token"}
	}
	if a.Brake.Failed(from) {
		_ = a.Control.Note(r.Context(), control.Actor{Name: "unknown", Source: from}, "login", "too many wrong tokens") // the refusal stands without it
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="plimsoll", error="invalid_token"`)
	problem(w, http.StatusUnauthorized, "unauthenticated", "the token is unknown, revoked or has ended")
	return nil
}

// source is the address that asks. Forwarded headers count for nothing here.
func source(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// allowed refuses whose role does not have a right.
func allowed(what right) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p := person(r); !p.Role.may(what) {
				problem(w, http.StatusForbidden, "forbidden", "as "+p.Role.String())
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
