package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
)

// Overrides is what /v1/overrides tells.
type Overrides struct {
	Version   uint64             `json:"version"`
	ETag      string             `json:"etag"` // for If-Match
	Overrides []control.Override `json:"overrides"`
	Local     []control.Override `json:"local"`      // of this worker alone
	LocalETag string             `json:"local_etag"` // for If-Match of a change that is local only
	Unmet     []control.Unmet    `json:"unmet"`      // what has no effect in this worker, and why
	Error     string             `json:"error,omitzero"`
	Fault     string             `json:"fault,omitzero"`
}

// etag is the strong tag of a document.
func etag(d *control.Document) string {
	return fmt.Sprintf("%q", d.Epoch+"-"+strconv.FormatUint(d.Version, 10))
}

func (a *API) whoami(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, person(r)) }

func (a *API) overrides(w http.ResponseWriter, r *http.Request) {
	s := a.Control.State()
	tag := etag(&s.Document)
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	answer(w, http.StatusOK, listed(&s))
}

// listed is what is told of a state.
func listed(s *control.State) Overrides {
	return Overrides{
		Version: s.Document.Version, ETag: etag(&s.Document), LocalETag: etag(&s.Local), Error: s.Error, Fault: s.Fault,
		Overrides: list(s.Document.Overrides), Local: list(s.Local.Overrides), Unmet: list(s.Unmet),
	}
}

// list is in JSON never null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func (a *API) override(w http.ResponseWriter, r *http.Request) {
	s := a.Control.State()
	id := chi.URLParam(r, "id")
	for _, d := range []*control.Document{&s.Document, &s.Local} {
		if o := d.Find(id); o != nil {
			w.Header().Set("ETag", etag(d))
			answer(w, http.StatusOK, o)
			return
		}
	}
	refuse(w, &control.NotFoundError{ID: id})
}

// creation is the body that asks for an override.
type creation struct {
	What      control.Kind    `json:"what"`
	Scope     control.Scope   `json:"scope"`
	Set       control.Setting `json:"set"`
	Value     float64         `json:"value"`
	Rate      string          `json:"rate"`
	Percent   int             `json:"percent"`
	DryRun    bool            `json:"dry_run"`
	LocalOnly bool            `json:"local_only"`
	Incident  string          `json:"incident"`

	Seconds int64  `json:"ttl_seconds"`
	Reason  string `json:"reason"`
}

// override is what the body asks for.
func (b *creation) override() control.Override {
	return control.Override{
		What: b.What, Scope: b.Scope, Set: b.Set, Value: b.Value, Rate: b.Rate, Percent: b.Percent, DryRun: b.DryRun,
		LocalOnly: b.LocalOnly, Incident: b.Incident, Reason: b.Reason,
	}
}

func (a *API) create(w http.ResponseWriter, r *http.Request) {
	var body creation
	if !decode(w, r, &body) {
		return
	}
	if person(r).LocalOnly {
		body.LocalOnly = true
	}
	c := control.Change{Action: control.Create, Override: body.override(), TTL: seconds(body.Seconds), LocalOnly: body.LocalOnly}
	result, ok := a.do(w, r, &c)
	if !ok {
		return
	}
	w.Header().Set("Location", "/v1/overrides/"+result.Override.ID)
	answer(w, http.StatusCreated, result)
}

// longest bounds what seconds may be, so that they fit a duration.
const longest = int64(1 << 31)

func seconds(n int64) time.Duration { return time.Duration(min(max(n, -1), longest)) * time.Second }

// about is the body of a change to what there is.
type about struct {
	Seconds   int64  `json:"ttl_seconds"` // extend
	Seq       uint64 `json:"seq"`         // undo
	Reason    string `json:"reason"`
	LocalOnly bool   `json:"local_only"`
}

// change handles an action on an override or a record.
func (a *API) change(action control.Action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body about
		if r.ContentLength != 0 && !decode(w, r, &body) {
			return
		}
		c := control.Change{
			Action: action, ID: chi.URLParam(r, "id"), Seq: body.Seq, Reason: body.Reason,
			TTL: seconds(body.Seconds), LocalOnly: body.LocalOnly || person(r).LocalOnly,
		}
		if result, ok := a.do(w, r, &c); ok {
			answer(w, http.StatusOK, result)
		}
	}
}

// do makes a change for whoever asks. It answers what was not done.
func (a *API) do(w http.ResponseWriter, r *http.Request, c *control.Change) (control.Result, bool) {
	s := a.Control.State()
	document := &s.Document
	if c.LocalOnly {
		document = &s.Local
	}
	if !expected(w, r, document, c) {
		return control.Result{}, false
	}
	c.Actor, c.RequestID = person(r).actor(), middleware.GetReqID(r.Context())
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		c.Key = strings.Trim(key, `"`) // a structured string, which most clients forget
	}
	result, err := a.Control.Do(r.Context(), *c)
	if err != nil {
		refuse(w, err)
		return result, false
	}
	w.Header().Set("ETag", fmt.Sprintf("%q", document.Epoch+"-"+strconv.FormatUint(result.Version, 10)))
	if result.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return result, true
}

// expected reads If-Match: the version that the author of a change has seen,
// of the document that there is.
func expected(w http.ResponseWriter, r *http.Request, d *control.Document, c *control.Change) bool {
	tag := r.Header.Get("If-Match")
	if tag == "" {
		problem(w, http.StatusPreconditionRequired, "precondition", "say with If-Match which version you have seen: it is the ETag of GET /v1/overrides")
		return false
	}
	epoch, version, ok := strings.Cut(strings.Trim(tag, `"`), "-")
	n, err := strconv.ParseUint(version, 10, 64)
	if !ok || err != nil || len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		problem(w, http.StatusBadRequest, "invalid", `If-Match must be one strong tag, such as "`+etag(d)[1:])
		return false
	}
	if epoch != d.Epoch {
		answerProblem(w, &Problem{Status: http.StatusPreconditionFailed, Type: "stale", Detail: "the tag is of another document", Version: d.Version})
		return false
	}
	c.Expect = n
	return true
}

// preview says what an override would have done, and makes nothing.
func (a *API) preview(w http.ResponseWriter, r *http.Request) {
	var body creation
	if !decode(w, r, &body) {
		return
	}
	minutes, ok := parameter{"minutes", longestLook, 1, longestLook}.read(w, r)
	if !ok {
		return
	}
	c := control.Change{Override: body.override(), TTL: seconds(body.Seconds), LocalOnly: body.LocalOnly || person(r).LocalOnly, Actor: person(r).actor()}
	p, err := a.Control.Preview(r.Context(), c, time.Duration(minutes)*time.Minute)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, p)
}

// longestLook is how far back a preview looks, in minutes.
const longestLook = uint64(insight.Window / time.Minute)
