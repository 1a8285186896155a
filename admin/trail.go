package admin

import (
	"net/http"
	"strconv"

	"github.com/plimsoll-go/plimsoll/control"
)

// Trail is a page of the audit trail, oldest first.
type Trail struct {
	Records []control.Record `json:"records"`
	// Next is the cursor of the next page; empty at the end.
	Next string `json:"next,omitzero"`
}

// The length of a page.
const (
	defaultPage = 100
	longestPage = 1000
)

func (a *API) audit(w http.ResponseWriter, r *http.Request) {
	from, ok := number(w, r, "cursor", 1, 1, 1<<62)
	if !ok {
		return
	}
	most, ok := number(w, r, "limit", defaultPage, 1, longestPage)
	if !ok {
		return
	}
	records, err := a.Control.Audit(r.Context(), from, int(most))
	if err != nil {
		refuse(w, err)
		return
	}
	page := Trail{Records: list(records)}
	if len(records) == int(most) {
		page.Next = strconv.FormatUint(records[len(records)-1].Seq+1, 10)
	}
	answer(w, http.StatusOK, page)
}

// number reads a parameter of the query.
func number(w http.ResponseWriter, r *http.Request, name string, absent, least, most uint64) (uint64, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return absent, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most {
		answerProblem(w, &Problem{Status: http.StatusBadRequest, Type: "invalid", Faults: []control.Fault{{
			Path: name, Problem: "must be " + strconv.FormatUint(least, 10) + " … " + strconv.FormatUint(most, 10) + ", got " + strconv.Quote(text),
		}}})
		return 0, false
	}
	return n, true
}

func (a *API) verify(w http.ResponseWriter, r *http.Request) {
	v, err := a.Control.Verify(r.Context())
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, v)
}
