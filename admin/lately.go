package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Ranking is the heaviest of callers or routes in the last five to ten minutes.
type Ranking struct {
	ByRefusals []insight.Heavy `json:"by_refusals"`
	BySeconds  []insight.Heavy `json:"by_slot_seconds"`
}

// Top is who is refused and who causes it.
type Top struct {
	Callers Ranking `json:"callers"`
	Routes  Ranking `json:"routes"`
}

func (a *API) topOf(n int) (t Top) {
	if a.Insight != nil {
		t.Callers.ByRefusals, t.Callers.BySeconds = a.Insight.Callers(n)
		t.Routes.ByRefusals, t.Routes.BySeconds = a.Insight.Routes(n)
	}
	for _, l := range []*[]insight.Heavy{&t.Callers.ByRefusals, &t.Callers.BySeconds, &t.Routes.ByRefusals, &t.Routes.BySeconds} {
		*l = list(*l)
	}
	return t
}

// mostListed bounds lists.
const mostListed = 1000

func (a *API) top(w http.ResponseWriter, r *http.Request) {
	if n, ok := (parameter{"limit", 10, 1, 100}).read(w, r); ok {
		answer(w, http.StatusOK, a.topOf(int(n)))
	}
}

// Happened is what happened in the last hour, oldest first.
type Happened struct {
	Events []insight.Event `json:"events"`
}

func (a *API) happened() Happened {
	switch {
	case a.Timeline != nil:
		return Happened{list(a.Timeline())}
	case a.Insight != nil:
		return Happened{list(a.Insight.Events())}
	}
	return Happened{[]insight.Event{}}
}

func (a *API) timeline(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, a.happened())
}

// Decided is one decision, as far as it is remembered.
type Decided struct {
	ID         string         `json:"id"`
	At         time.Time      `json:"at"`
	Caller     string         `json:"caller"` // as it may be shown
	CallerID   string         `json:"caller_id"`
	Method     string         `json:"method,omitzero"`
	Route      string         `json:"route,omitzero"`
	Class      priority.Class `json:"class"`
	Cohort     int            `json:"cohort"`
	Admitted   bool           `json:"admitted"`
	Reason     string         `json:"reason,omitzero"`
	Stage      string         `json:"stage,omitzero"` // the entry that refused, or would have
	Limit      string         `json:"limit,omitzero"` // the limit or override that did
	Remaining  int64          `json:"remaining,omitzero"`
	RetryAfter int64          `json:"retry_after_ms,omitzero"`
	Shadow     bool           `json:"shadow,omitzero"` // it was admitted; an entry in shadow would have refused it
}

func decided(s *insight.Sample) Decided {
	d := Decided{
		ID: s.ID.String(), At: time.Unix(0, s.At).UTC(), Caller: s.Caller.Label(), CallerID: s.Caller.ID.String(), Method: s.Method, Route: s.Route,
		Class: s.Class, Cohort: int(s.Cohort), Admitted: s.Verdict == pipeline.Admit, Stage: s.Entry, Limit: s.Rule,
		Remaining: s.Remaining, RetryAfter: max(s.RetryAfter, 0).Milliseconds(), Shadow: s.Shadow,
	}
	if s.Reason != pipeline.None {
		d.Reason = s.Reason.String()
	}
	return d
}

func (a *API) decision(w http.ResponseWriter, r *http.Request) {
	text := chi.URLParam(r, "id")
	id, err := store.ParseID(text)
	if err != nil {
		answerProblem(w, &Problem{Status: http.StatusBadRequest, Type: "invalid", Detail: err.Error()})
		return
	}
	if a.Insight != nil {
		if s, ok := a.Insight.Find(id); ok {
			answer(w, http.StatusOK, decided(&s))
			return
		}
	}
	problem(w, http.StatusNotFound, "not-found", "this worker remembers the last few thousand refusals, and a sample of what it admitted in ten minutes")
}

func (a *API) refusals(w http.ResponseWriter, r *http.Request) {
	n, ok := parameter{"limit", 100, 1, mostListed}.read(w, r)
	if !ok {
		return
	}
	out := []Decided{}
	if a.Insight != nil {
		for _, s := range a.Insight.Refusals(int(n)) {
			out = append(out, decided(&s))
		}
	}
	slices.SortFunc(out, func(a, b Decided) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	answer(w, http.StatusOK, map[string][]Decided{"refusals": out})
}

func (a *API) worked() (w insight.Work) {
	if a.Insight != nil {
		w = a.Insight.Work()
	}
	return w
}

func (a *API) work(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, a.worked()) }

// Held is a request in flight.
type Held struct {
	ID       string    `json:"id"`
	Caller   string    `json:"caller"`
	Route    string    `json:"route"`
	Class    string    `json:"class"`
	Since    time.Time `json:"since"`
	Seconds  float64   `json:"seconds"`
	Detached bool      `json:"detached,omitzero"` // a stream
	Left     bool      `json:"left,omitzero"`     // its client has gone
	Overdue  bool      `json:"overdue,omitzero"`  // its deadline has passed
}

// mostHeld bounds those among which the oldest are looked for.
const mostHeld = 20_000

// held is the oldest requests in flight.
func (a *API) held(n int) []Held {
	out := []Held{}
	if a.Holders == nil {
		return out
	}
	now := time.Now()
	all := a.Holders(mostHeld)
	slices.SortFunc(all, func(a, b pipeline.Holder) int { return cmp.Compare(a.Since, b.Since) })
	for _, h := range all[:min(n, len(all))] {
		since := time.Unix(0, h.Since)
		out = append(out, Held{
			ID: h.ID.String(), Caller: h.Caller, Route: h.Route, Class: h.Class, Since: since.UTC(), Seconds: now.Sub(since).Seconds(),
			Detached: h.Detached, Left: h.Gone, Overdue: h.Deadline != 0 && now.UnixNano() > h.Deadline,
		})
	}
	return out
}

func (a *API) holders(w http.ResponseWriter, r *http.Request) {
	if n, ok := (parameter{"limit", 100, 1, mostListed}).read(w, r); ok {
		answer(w, http.StatusOK, map[string][]Held{"holders": a.held(int(n))})
	}
}

// Report is what is known of an incident.
type Report struct {
	Incident  string             `json:"incident"`
	Made      time.Time          `json:"made"`
	Status    *Status            `json:"status,omitzero"`
	Overrides []control.Override `json:"overrides"` // with the incident's name
	Trail     []control.Record   `json:"trail"`     // likewise, the last thousand
	Timeline  []insight.Event    `json:"timeline"`
	Top       Top                `json:"top"`
	Work      insight.Work       `json:"work"`
	Holders   []Held             `json:"holders"`
}

func (a *API) report(w http.ResponseWriter, r *http.Request) {
	incident := r.URL.Query().Get("incident")
	trail, err := a.trailOf(r.Context(), incident)
	if err != nil {
		refuse(w, err)
		return
	}
	const few = 20
	out := Report{
		Incident: incident, Made: time.Now().UTC(), Trail: trail, Timeline: a.happened().Events, Top: a.topOf(few), Work: a.worked(), Holders: a.held(few),
		Overrides: []control.Override{},
	}
	if a.Status != nil {
		out.Status = new(a.Status())
	}
	state := a.Control.State()
	for _, o := range append(slices.Clone(state.Document.Overrides), state.Local.Overrides...) {
		if incident == "" || o.Incident == incident {
			out.Overrides = append(out.Overrides, o)
		}
	}
	answer(w, http.StatusOK, out)
}

// trailOf is the last records that carry an incident's name; all, without one.
func (a *API) trailOf(ctx context.Context, incident string) ([]control.Record, error) {
	records := []control.Record{}
	for from := uint64(1); ; {
		page, err := a.Control.Audit(ctx, from, longestPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if incident == "" || page[i].Incident == incident {
				records = append(records, page[i])
			}
		}
		records = records[max(0, len(records)-mostListed):]
		if len(page) < longestPage {
			return records, nil
		}
		from = page[len(page)-1].Seq + 1
	}
}
