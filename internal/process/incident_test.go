package process

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

func TestAnIncidentsReport(t *testing.T) {
	r := start(t, file(t, policyFile), hello)
	for range 5 {
		r.ask(t, "/", "greedy")
	}
	r.ask(t, "/", "a")
	held := &pipeline.Request{Deadline: r.pipeline.Now() - int64(time.Second), Caller: pipeline.Caller{Name: "zombie"}}
	r.pipeline.Acquire(t.Context(), held)
	defer r.pipeline.Release(held, pipeline.Result{})
	made := r.change(t, control.Change{Action: control.Create, Override: control.Override{
		What: control.Shed, Scope: control.Scope{Below: "high"}, Reason: "slow", Incident: "INC-7",
	}})
	r.override(t, control.Override{What: control.Bypass})
	r.revoke(t, made.Override.ID)
	i := r.Report(t.Context(), "INC-7")
	if len(i.Records) != 2 || i.Records[0].Action != control.Create || i.Records[1].Action != control.Revoke || i.Fault != "" {
		t.Errorf("records: %+v, %s", i.Records, i.Fault)
	}
	if len(i.Callers.ByRefusals) != 1 || i.Callers.ByRefusals[0].Name != "greedy" || i.Callers.ByRefusals[0].Refused != 3 {
		t.Errorf("callers: %+v", i.Callers)
	}
	if i.Past.Refused != 3 || i.Past.Offered < 6 || len(i.Refusals) != 3 {
		t.Errorf("past: %+v", i.Past.Share)
	}
	if len(i.Holders) != 1 || i.Holders[0].Overdue < 1 || i.Holders[0].Caller != "zombie" {
		t.Errorf("holders: %+v", i.Holders)
	}
	said := ""
	for _, e := range i.Timeline {
		said += e.Who + " " + e.What + "\n"
	}
	if !strings.Contains(said, "ann shed "+made.Override.ID+" began: slow") || !strings.Contains(said, "shed "+made.Override.ID+" ended") {
		t.Errorf("timeline:\n%s", said)
	}
	if _, err := json.Marshal(i); err != nil {
		t.Error(err)
	}
}

// What a change would do is said before, and made by nobody.
func TestPreviews(t *testing.T) {
	r := start(t, file(t, policyFile), hello)
	for range 5 {
		r.ask(t, "/", "greedy")
	}
	r.ask(t, "/", "a")
	for name, c := range map[string]struct {
		override        control.Override
		would, released float64
	}{
		"shed":   {control.Override{What: control.Shed, Scope: control.Scope{Below: "high"}}, 3, 0},
		"route":  {control.Override{What: control.Shed, Scope: control.Scope{Below: "high", Route: "/none/"}}, 0, 0},
		"pin":    {control.Override{What: control.Pin, Set: control.Level, Value: 2}, 3, 0},
		"block":  {control.Override{What: control.Caller, Set: control.Block, Scope: control.Scope{Caller: "a"}}, 1, 0},
		"exempt": {control.Override{What: control.Caller, Set: control.Exempt, Scope: control.Scope{Caller: "greedy"}}, 0, 3},
		"off":    {control.Override{What: control.StageMode, Set: control.Off, Scope: control.Scope{Stage: "ratelimit"}}, 0, 3},
		"limit":  {control.Override{What: control.Limit, Set: control.Scale, Value: 0.5, Scope: control.Scope{Stage: "ratelimit", Limit: "per-caller"}}, 1, 0},
		"bypass": {control.Override{What: control.Bypass}, 0, 3},
	} {
		c.override.Reason = "a preview"
		p, err := r.Control().Preview(t.Context(), control.Change{Override: c.override, TTL: time.Minute, Actor: ann}, 0)
		if err != nil {
			t.Fatal(name, err)
		}
		if !p.Past.Known || math.Round(p.Past.Would) != c.would || p.Past.Released != c.released || p.Unmet != "" || p.Version != 1 {
			t.Errorf("%s: %+v, %q; want %v and %v", name, p.Past.Share, p.Unmet, c.would, c.released)
		}
	}
	p, err := r.Control().Preview(t.Context(), control.Change{TTL: time.Minute, Actor: ann, Override: control.Override{
		What: control.StageMode, Set: control.Off, Scope: control.Scope{Stage: "x"}, Reason: "a preview"}}, 0)
	if err != nil || p.Unmet != `there is no stage "x"` {
		t.Errorf("%+v, %v", p, err)
	}
	if s := r.Control().State(); s.Document.Version != 1 || s.Revision != 0 {
		t.Errorf("a preview changed something: %+v", s)
	}
}
