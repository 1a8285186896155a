package admin

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/plimsoll-go/plimsoll/control"
)

func (a *API) tokens(w http.ResponseWriter, r *http.Request) {
	tokens, err := a.Tokens.List(r.Context())
	if err != nil {
		problem(w, http.StatusServiceUnavailable, "unavailable", err.Error())
		return
	}
	answer(w, http.StatusOK, map[string][]Token{"tokens": tokens})
}

// Made is a new token. The secret is told this once.
type Made struct {
	Token
	Secret string `json:"secret"`
}

func (a *API) createToken(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name    string `json:"name"`
		Role    string `json:"role"`
		Seconds int64  `json:"ttl_seconds"`
	}
	if !decode(w, r, &body) {
		return
	}
	role, err := ParseRole(body.Role)
	if err != nil {
		answerProblem(w, &Problem{Status: http.StatusUnprocessableEntity, Type: "invalid", Faults: []control.Fault{{Path: "role", Problem: err.Error()}}})
		return
	}
	token, secret, err := a.Tokens.Create(r.Context(), person(r).Name, body.Name, role, seconds(body.Seconds))
	switch {
	case errors.Is(err, ErrTokens):
		problem(w, http.StatusConflict, "full", err.Error())
	case err != nil && token.ID == "":
		problem(w, http.StatusUnprocessableEntity, "invalid", err.Error())
	case err != nil:
		problem(w, http.StatusServiceUnavailable, "unavailable", err.Error())
	default:
		a.note(r, "token "+token.ID, fmt.Sprintf("made for %s as %s until %s", token.Name, token.Role, token.Expires.Format("2006-01-02T15:04:05Z")))
		answer(w, http.StatusCreated, Made{token, secret})
	}
}

func (a *API) revokeToken(w http.ResponseWriter, r *http.Request) {
	token, err := a.Tokens.Revoke(r.Context(), chi.URLParam(r, "id"))
	switch {
	case errors.Is(err, ErrNoToken):
		problem(w, http.StatusNotFound, "not-found", err.Error())
	case err != nil:
		problem(w, http.StatusServiceUnavailable, "unavailable", err.Error())
	default:
		a.note(r, "token "+token.ID, "of "+token.Name+" revoked")
		w.WriteHeader(http.StatusNoContent)
	}
}

// note puts what happened to a token into the audit trail. The change is made
// by then: a trail that cannot be written to is told in the log of the control.
func (a *API) note(r *http.Request, subject, detail string) {
	_ = a.Control.Note(r.Context(), person(r).actor(), subject, detail)
}
