package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
)

// Problem is an answer that says what went wrong (RFC 9457).
type Problem struct {
	Type   string          `json:"type"`
	Title  string          `json:"title"`
	Status int             `json:"status"`
	Detail string          `json:"detail,omitzero"`
	Faults []control.Fault `json:"faults,omitzero"` // of a body: where, and what is allowed
	Key    string          `json:"key,omitzero"`    // to send again, when the outcome is not known
	// Version is the version that there is, when another was expected.
	Version uint64 `json:"version,omitzero"`
}

// problemType is what a problem's type begins with.
const problemType = "urn:plimsoll:problem:"

// titles name the problems, by the last part of their type.
var titles = map[string]string{
	"unauthenticated": "who asks is not known",
	"forbidden":       "the role does not allow it",
	"too-many":        "too many failed attempts",
	"host":            "not a host of this listener",
	"cross-origin":    "asked by a page of another origin",
	"not-found":       "there is no such thing",
	"method":          "not by this method",
	"media-type":      "the body must be application/json",
	"too-large":       "the body is too large",
	"invalid":         "the request is not right",
	"precondition":    "If-Match is needed",
	"stale":           "the document changed",
	"key-reused":      "the idempotency key was used for another change",
	"conflict":        "something came after it",
	"protected":       "guard rails forbid it",
	"full":            "there are too many",
	"unavailable":     "the storage is not available",
	"unknown":         "the outcome is not known",
	"busy":            "too many streams are open",
	"internal":        "something went wrong here",
}

func problem(w http.ResponseWriter, status int, kind, detail string) {
	answerProblem(w, &Problem{Status: status, Type: kind, Detail: detail})
}

// answerProblem fills in what follows from the kind, and answers.
func answerProblem(w http.ResponseWriter, p *Problem) {
	p.Title, p.Type = titles[p.Type], problemType+p.Type
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // an error here is the client's connection
}

// refuse answers what the control plane did not do.
func refuse(w http.ResponseWriter, err error) {
	if p := problemOf(err); p != nil {
		answerProblem(w, p)
		return
	}
	problem(w, http.StatusInternalServerError, "internal", "")
}

// problemOf is the problem of an error of the control plane, nil for others.
func problemOf(err error) *Problem {
	p := &Problem{Detail: err.Error()}
	is := func(status int, kind string) *Problem {
		p.Status, p.Type = status, kind
		return p
	}
	if e, ok := errors.AsType[*control.InvalidError](err); ok {
		p.Faults = e.Faults
		return is(http.StatusUnprocessableEntity, "invalid")
	}
	if e, ok := errors.AsType[*control.StaleError](err); ok {
		p.Version = e.Version
		return is(http.StatusPreconditionFailed, "stale")
	}
	if e, ok := errors.AsType[*control.UnknownError](err); ok {
		p.Key = e.Key
		return is(http.StatusGatewayTimeout, "unknown")
	}
	for _, c := range []struct {
		match  func(error) bool
		status int
		kind   string
	}{
		{isA[*control.UnavailableError], http.StatusServiceUnavailable, "unavailable"},
		{isA[*control.ProtectedError], http.StatusForbidden, "protected"},
		{isA[*control.SecondPersonError], http.StatusForbidden, "protected"},
		{isA[*control.TTLError], http.StatusUnprocessableEntity, "invalid"},
		{isA[*control.NotFoundError], http.StatusNotFound, "not-found"},
		{isA[*control.ConflictError], http.StatusConflict, "conflict"},
		{isA[*control.KeyReusedError], http.StatusUnprocessableEntity, "key-reused"},
		{isA[*control.FullError], http.StatusConflict, "full"},
		{func(err error) bool { return errors.Is(err, control.ErrNoVersion) }, http.StatusPreconditionRequired, "precondition"},
	} {
		if c.match(err) {
			return is(c.status, c.kind)
		}
	}
	return nil
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// later sets how long a client should wait.
func later(w http.ResponseWriter, d time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int((d+time.Second-1)/time.Second))))
}
