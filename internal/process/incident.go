package process

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
)

// Incident is what one worker can tell of an incident, as one document.
type Incident struct {
	Incident string    `json:"incident"` // its name; "" reports on everything
	Made     time.Time `json:"made"`
	Worker   string    `json:"worker"`

	Status   admin.Status     `json:"status"`
	Control  control.State    `json:"control"`
	Records  []control.Record `json:"records"`            // of the audit trail, oldest first; the last thousand at most
	Fault    string           `json:"fault,omitzero"`     // why the trail could not be read
	Timeline []insight.Event  `json:"timeline"`           // of the last hour
	Past     insight.Answer   `json:"past"`               // the last ten minutes
	Callers  Heaviest         `json:"callers"`            // of the last minutes
	Routes   Heaviest         `json:"routes"`             // likewise
	Holders  []Holder         `json:"holders"`            // the oldest requests in flight
	Work     insight.Work     `json:"work"`               // since the start
	Refusals []insight.Sample `json:"refusals,omitempty"` // some of the last
}

// Heaviest names those who were refused most, and those who held most.
type Heaviest struct {
	ByRefusals []insight.Heavy `json:"by_refusals"`
	BySeconds  []insight.Heavy `json:"by_slot_seconds"`
}

// Holder is a request in flight.
type Holder struct {
	ID      string  `json:"id"`
	Caller  string  `json:"caller"`
	Route   string  `json:"route"`
	Class   string  `json:"class"`
	Seconds float64 `json:"seconds"`         // since it arrived
	Stream  bool    `json:"stream"`          // it is long-lived
	Gone    bool    `json:"gone"`            // its client has left: a zombie
	Overdue float64 `json:"overdue_seconds"` // since its deadline passed: a zombie; 0 when it has not
}

// Report gathers what is known of an incident. What cannot be read is left out,
// and said.
func (p *Process) Report(ctx context.Context, incident string) Incident {
	i := Incident{
		Incident: incident, Made: time.Now().UTC(), Worker: p.built.Load().Live.Member().Worker(),
		Status: p.Status(), Control: p.control.State(), Timeline: p.Timeline(), Past: p.insight.Ask(insight.Question{}),
		Holders: p.Holders(50), Work: p.insight.Work(), Refusals: p.insight.Refusals(20),
	}
	i.Callers.ByRefusals, i.Callers.BySeconds = p.insight.Callers(20)
	i.Routes.ByRefusals, i.Routes.BySeconds = p.insight.Routes(20)
	var err error
	if i.Records, err = p.recordsOf(ctx, incident); err != nil {
		i.Fault = err.Error()
	}
	return i
}

// recordsOf is the trail of an incident: the last records that name it.
func (p *Process) recordsOf(ctx context.Context, incident string) (list []control.Record, err error) {
	const most = 1000
	for from := uint64(1); ; from = list[len(list)-1].Seq + 1 {
		page, err := p.control.Audit(ctx, from, 500)
		list = append(list, page...)
		if err != nil || len(page) < 500 {
			list = slices.DeleteFunc(list, func(r control.Record) bool { return incident != "" && r.Incident != incident })
			return list[max(0, len(list)-most):], err
		}
	}
}

// Holders lists the requests that have been in flight longest, at most most,
// oldest first. One whose client has left, or whose deadline has passed, runs
// for nobody.
func (p *Process) Holders(most int) []Holder {
	now := p.pipeline.Now()
	all := p.pipeline.Holders(1 << 20)
	slices.SortFunc(all, func(a, b pipeline.Holder) int { return cmp.Compare(a.Since, b.Since) })
	list := make([]Holder, 0, min(most, len(all)))
	for i := range all[:min(most, len(all))] {
		h := &all[i]
		made := Holder{
			ID: idText(h.ID), Caller: h.Caller, Route: h.Route, Class: h.Class, Stream: h.Detached, Gone: h.Gone,
			Seconds: time.Duration(now - h.Since).Seconds(),
		}
		if h.Deadline != 0 && now > h.Deadline {
			made.Overdue = time.Duration(now - h.Deadline).Seconds()
		}
		list = append(list, made)
	}
	return list
}

func idText(id store.ID) string { return fmt.Sprintf("%016x%016x", id.Hi, id.Lo) }

// Timeline is what happened here in the last hour, with what moved each
// worker stage, oldest first.
func (p *Process) Timeline() []insight.Event {
	var moved []insight.Event
	for name, s := range stagesOf[*workershed.Stage](p) {
		for _, c := range s.State().Snapshot().Changes {
			moved = append(moved, insight.Event{
				At: c.Ended, Kind: c.Subject.String(), What: name + ": " + c.String(), From: fmt.Sprintf("%.4g", c.From), To: fmt.Sprintf("%.4g", c.To),
			})
		}
	}
	return p.insight.Events(moved...)
}

// noteOverrides tells the timeline which overrides began and ended.
func (p *Process) noteOverrides() {
	holds := map[string]control.Override{}
	for _, o := range p.control.State().Active {
		holds[o.ID] = o
		if _, before := p.holding[o.ID]; !before {
			p.insight.Note(insight.Event{Kind: "control", What: fmt.Sprintf("%s %s began: %s", o.What, o.ID, o.Reason), Who: o.Author})
		}
	}
	for id, o := range p.holding {
		if _, still := holds[id]; !still {
			p.insight.Note(insight.Event{Kind: "control", What: fmt.Sprintf("%s %s ended", o.What, id)})
		}
	}
	p.holding = holds
}

// noteStore tells the timeline how the store does.
func (p *Process) noteStore(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for was := ""; ; {
		if is := p.built.Load().Live.Guard().State().String(); is != was {
			if was != "" {
				p.insight.Note(insight.Event{Kind: "store", What: "the store is " + is, From: was, To: is})
			}
			was = is
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
