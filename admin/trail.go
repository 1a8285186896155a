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
	from, ok := parameter{"cursor", 1, 1, 1 << 62}.read(w, r)
	if !ok {
		return
	}
	most, ok := parameter{"limit", defaultPage, 1, longestPage}.read(w, r)
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

// parameter is a number of the query.
type parameter struct {
	name                string
	absent, least, most uint64
}

// read answers when the number is not in its range.
func (p parameter) read(w http.ResponseWriter, r *http.Request) (uint64, bool) {
	text := r.URL.Query().Get(p.name)
	if text == "" {
		return p.absent, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < p.least || n > p.most {
		answerProblem(w, &Problem{Status: http.StatusBadRequest, Type: "invalid", Faults: []control.Fault{{
			Path: p.name, Problem: "must be " + strconv.FormatUint(p.least, 10) + " … " + strconv.FormatUint(p.most, 10) + ", got " + strconv.Quote(text),
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
