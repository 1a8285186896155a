package admin

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Imagined is the body that describes a request which nobody sent.
type Imagined struct {
	Method  string              `json:"method"`           // default GET
	Host    string              `json:"host,omitzero"`    // default none
	Path    string              `json:"path"`             // required, may have a query
	Headers map[string][]string `json:"headers,omitzero"` // may name the caller
	Address string              `json:"address,omitzero"` // from which it comes. Default 127.0.0.1
}

// Explained is what would become of a request.
type Explained struct {
	Admitted   bool           `json:"admitted"`
	Exempt     bool           `json:"exempt,omitzero"` // it would not be asked about at all
	Reason     string         `json:"reason,omitzero"`
	Stage      string         `json:"stage,omitzero"` // the entry that would refuse
	Limit      string         `json:"limit,omitzero"` // the limit or override that would
	RetryAfter int64          `json:"retry_after_ms,omitzero"`
	Caller     string         `json:"caller"` // as it may be shown
	CallerID   string         `json:"caller_id"`
	Address    string         `json:"address,omitzero"` // of the client
	Class      priority.Class `json:"class"`
	Cohort     int            `json:"cohort"`
	Route      string         `json:"route,omitzero"`
	Bypass     string         `json:"bypass,omitzero"` // the override that lets everything pass
	Stages     []Answer       `json:"stages"`
}

// Answer is one entry's, by itself.
type Answer struct {
	Stage      string   `json:"stage"`
	Kind       string   `json:"kind"`
	Mode       string   `json:"mode"`
	Answer     string   `json:"answer"` // admit, refuse, or "not asked" of an entry that is off
	Reason     string   `json:"reason,omitzero"`
	Limit      string   `json:"limit,omitzero"` // or the override that would refuse
	RetryAfter int64    `json:"retry_after_ms,omitzero"`
	Left       int64    `json:"left,omitzero"` // room in flight, of the shedders
	Of         int64    `json:"of,omitzero"`   // likewise, of how much; 0 where there is no bound
	Limits     []Margin `json:"limits,omitzero"`
	Overrides  []string `json:"overrides,omitzero"` // that change this entry
	Fault      string   `json:"fault,omitzero"`     // why its fault policy answered
}

// Margin is how near a request is to a limit.
type Margin struct {
	Limit      string `json:"limit"`
	Rate       string `json:"rate,omitzero"` // of tokens
	Of         int64  `json:"of"`            // burst, or slots
	Left       int64  `json:"left"`          // after the request, if it is granted
	Cost       int64  `json:"cost"`
	Granted    bool   `json:"granted"`
	RetryAfter int64  `json:"retry_after_ms,omitzero"`
	ResetAfter int64  `json:"reset_after_ms,omitzero"`
}

// explain tells what would become of a request, and consumes nothing.
func (a *API) explain(w http.ResponseWriter, r *http.Request) {
	var body Imagined
	if !decode(w, r, &body) {
		return
	}
	imagined, fault := body.request(r)
	if fault != nil {
		answerProblem(w, &Problem{Status: http.StatusUnprocessableEntity, Type: "invalid", Faults: []control.Fault{*fault}})
		return
	}
	if a.Explain == nil {
		problem(w, http.StatusServiceUnavailable, "unavailable", "nothing here decides requests")
		return
	}
	q := &pipeline.Request{}
	x, seen := a.Explain(q, imagined)
	out := explained(q, &x)
	effects := a.Control.Effects()
	out.Bypass, out.Exempt = effects.Bypass, !seen
	if out.Exempt {
		out.Admitted, out.Reason, out.Stage, out.Limit, out.RetryAfter = true, "", "", "", 0
	}
	for i := range out.Stages {
		out.Stages[i].Overrides = overridesOf(&effects, out.Stages[i].Stage, out.Stages[i].Kind)
	}
	answer(w, http.StatusOK, out)
}

// request is what a server would see of it.
func (b *Imagined) request(r *http.Request) (*http.Request, *control.Fault) {
	address := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if b.Address != "" {
		var err error
		if address, err = netip.ParseAddr(b.Address); err != nil {
			return nil, &control.Fault{Path: "address", Problem: "must be an IP address, got " + b.Address}
		}
	}
	if !strings.HasPrefix(b.Path, "/") {
		return nil, &control.Fault{Path: "path", Problem: "must begin with /"}
	}
	if b.Method == "" {
		b.Method = http.MethodGet
	}
	imagined, err := http.NewRequestWithContext(r.Context(), b.Method, "http://imagined"+b.Path, http.NoBody)
	if err != nil {
		return nil, &control.Fault{Path: "path", Problem: "method and path must be those of a request: " + err.Error()}
	}
	imagined.Host, imagined.RemoteAddr, imagined.RequestURI = b.Host, net.JoinHostPort(address.String(), "1"), b.Path
	for name, values := range b.Headers {
		for _, value := range values {
			imagined.Header.Add(name, value)
		}
	}
	return imagined, nil
}

func explained(q *pipeline.Request, x *pipeline.Explanation) Explained {
	out := Explained{
		Admitted: x.Decision.Verdict == pipeline.Admit, Caller: q.Caller.Label(), CallerID: q.Caller.ID.String(),
		Class: q.Class, Cohort: int(q.Cohort), Route: q.RouteName(), Stages: []Answer{},
	}
	if q.Address.IsValid() {
		out.Address = q.Address.String()
	}
	if !out.Admitted {
		out.Reason, out.Limit = x.Decision.Reason.String(), x.Detail.Rule
		out.Stage, out.RetryAfter = x.Entries[x.Decision.Entry].Entry.Name, milliseconds(x.Detail.RetryAfter)
	}
	for i := range x.Entries {
		out.Stages = append(out.Stages, answerOf(&x.Entries[i]))
	}
	return out
}

func answerOf(e *pipeline.Explained) Answer {
	a := Answer{Stage: e.Entry.Name, Kind: e.Entry.Kind, Mode: e.Entry.Mode.String(), Answer: "admit"}
	switch {
	case e.Decision.Verdict != pipeline.Admit:
		a.Answer, a.Reason, a.Limit = "refuse", e.Decision.Reason.String(), e.Detail.Rule
		a.RetryAfter = milliseconds(e.Detail.RetryAfter)
	case !e.Asked && e.Err == nil:
		a.Answer = "not asked"
	}
	if e.Of > 0 && e.Of < boundless {
		a.Left, a.Of = e.Left, e.Of
	}
	if e.Err != nil {
		a.Fault = e.Err.Error()
	}
	for i := range e.Claims {
		a.Limits = append(a.Limits, marginOf(&e.Claims[i]))
	}
	return a
}

// boundless is more room in flight than any worker has.
const boundless = 1 << 20

func marginOf(p *pipeline.Peeked) Margin {
	l, g := p.Claim.Limit, &p.Grant
	m := Margin{
		Limit: l.Name, Of: l.Max, Left: max(g.Remaining, 0), Cost: p.Claim.Cost, Granted: g.OK,
		RetryAfter: milliseconds(g.RetryAfter), ResetAfter: milliseconds(g.ResetAfter),
	}
	if l.Kind == store.Tokens {
		m.Of, m.Rate = l.Burst, l.Rate.String()
	}
	return m
}

// milliseconds is −1 for what waiting does not help.
func milliseconds(d time.Duration) int64 {
	if d == store.Never {
		return -1
	}
	return d.Milliseconds()
}

// overridesOf are the overrides that change an entry's mode, limits or level.
func overridesOf(e *control.Effects, stage, kind string) (ids []string) {
	ids = append(ids, e.Modes[stage].ID)
	switch kind {
	case "workershed":
		ids = append(ids, cmp.Or(e.Pins[stage].ID, e.DefaultPin.ID))
	case "fleetshed":
		ids = append(ids, e.Reserve.ID, e.Capacity.ID)
	}
	for name, l := range e.Limits {
		if name.Stage == stage {
			ids = append(ids, l.ModeID, l.NumberID)
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	slices.Sort(ids)
	return slices.Compact(ids)
}
