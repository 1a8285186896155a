package process

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

var ann = control.Actor{Name: "ann"}

// change makes a change on the version that there is, and waits until it holds.
func (r *running) change(t *testing.T, c control.Change) control.Result {
	t.Helper()
	c.Actor = ann
	if c.TTL == 0 {
		c.TTL = time.Minute
	}
	var res control.Result
	for {
		c.Expect = max(r.Control().State().Document.Version, 1)
		var err error
		if res, err = r.Control().Do(t.Context(), c); err == nil {
			break
		}
		if _, stale := errors.AsType[*control.StaleError](err); !stale {
			t.Fatal(err)
		}
	}
	r.until(t, res.Version)
	return res
}

func (r *running) until(t *testing.T, version uint64) {
	t.Helper()
	redistest.Eventually(t, "the change is applied", func() bool { return r.Control().Effects().Version >= version })
}

func (r *running) override(t *testing.T, o control.Override) control.Result {
	t.Helper()
	o.Reason = "a test"
	return r.change(t, control.Change{Action: control.Create, Override: o})
}

func (r *running) revoke(t *testing.T, id string) {
	t.Helper()
	r.change(t, control.Change{Action: control.Revoke, ID: id})
}

// ask is a request by a caller, and the reason of its refusal.
func (r *running) ask(t *testing.T, path, caller string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Caller", caller)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == 200 {
		return "ok"
	}
	return fmt.Sprint(answer.StatusCode)
}

const policyFile = `version: 1
identity: {trusted_proxies: [127.0.0.0/8], caller: [trusted-header:X-Caller, address]}
stages:
  - stage: ratelimit
    limits:
      - {name: per-caller, key: [caller], rate: 2/h, burst: 2}
      - {name: all, key: [], rate: 1000/h, burst: 1000}
  - stage: concurrency
    limits: [{name: slots, key: [caller], max: 5}]
  - stage: fleetshed
    reserve: 0.2
  - stage: workershed
    max_in_flight: 100
`

func (r *running) stage(name string) (pipeline.Entry, bool) {
	plan := r.pipeline.Plan()
	for i := range plan.Len() {
		if e := plan.Entry(i); e.Name == name {
			return e, true
		}
	}
	return pipeline.Entry{}, false
}

func TestOverridesHold(t *testing.T) {
	r := start(t, file(t, policyFile), hello)
	for _, caller := range []string{"a", "a", "b"} {
		if got := r.ask(t, "/", caller); got != "ok" {
			t.Fatalf("%s: %s", caller, got)
		}
	}
	if got := r.ask(t, "/", "a"); got != "429" {
		t.Fatalf("a has two in an hour: %s", got)
	}

	shed := r.override(t, control.Override{What: control.Shed, Scope: control.Scope{Below: "high", Route: "/search/"}})
	if got := r.ask(t, "/search/x", "c"); got != "503" {
		t.Errorf("shed on its route: %s", got)
	}
	if got := r.ask(t, "/", "c"); got != "ok" {
		t.Errorf("shed on another route: %s", got)
	}
	r.revoke(t, shed.Override.ID)
	if got := r.ask(t, "/search/x", "c"); got != "ok" {
		t.Errorf("after the shed: %s", got)
	}

	exempt := r.override(t, control.Override{What: control.Caller, Set: control.Exempt, Scope: control.Scope{Caller: "a"}})
	if got := r.ask(t, "/", "a"); got != "ok" {
		t.Errorf("exempt: %s %+v", got, r.Control().State().Unmet)
	}
	r.revoke(t, exempt.Override.ID)
	if got := r.ask(t, "/", "a"); got != "429" {
		t.Errorf("what was spent was forgotten: %s", got)
	}

	block := r.override(t, control.Override{What: control.Caller, Set: control.Block, Scope: control.Scope{Caller: "b"}})
	if got := r.ask(t, "/", "b"); got == "ok" {
		t.Errorf("blocked: %s", got)
	}
	bypass := r.override(t, control.Override{What: control.Bypass})
	for _, caller := range []string{"a", "b"} {
		if got := r.ask(t, "/", caller); got != "ok" {
			t.Errorf("%s, all bypassed: %s", caller, got)
		}
	}
	r.revoke(t, bypass.Override.ID)
	r.revoke(t, block.Override.ID)
	if got := r.ask(t, "/", "b"); got != "ok" {
		t.Errorf("b has one left: %s", got)
	}
}

func TestOverridesOfLimitsAndStages(t *testing.T) {
	r := start(t, file(t, policyFile), hello)
	for range 2 {
		r.ask(t, "/", "a")
	}
	limitScope := control.Scope{Stage: "ratelimit", Limit: "per-caller"}
	if got := r.ask(t, "/", "a"); got != "429" {
		t.Fatalf("%s", got)
	}
	refused, _ := r.insight.Callers(1)
	for _, o := range []control.Override{
		{What: control.Caller, Set: control.Exempt, Scope: control.Scope{Caller: "id:" + refused[0].ID}},
		{What: control.Caller, Set: control.Scale, Value: 4, Scope: control.Scope{Caller: "id:" + refused[0].ID}},
		{What: control.Limit, Set: control.Shadow, Scope: limitScope},
		{What: control.Limit, Set: control.Off, Scope: limitScope},
		{What: control.Limit, Set: control.Scale, Value: 10, Scope: limitScope},
		{What: control.Limit, Set: control.Rate, Rate: "100/h", Scope: limitScope},
		{What: control.StageMode, Set: control.Off, Scope: control.Scope{Stage: "ratelimit"}},
		{What: control.StageMode, Set: control.Shadow, Scope: control.Scope{Stage: "ratelimit"}},
		{What: control.Caller, Set: control.Scale, Value: 4, Scope: control.Scope{Caller: "a"}},
	} {
		if got := r.ask(t, "/", "a"); got != "429" {
			t.Fatalf("before %s %s: %s", o.What, o.Set, got)
		}
		made := r.override(t, o)
		if got := r.ask(t, "/", "a"); got != "ok" {
			t.Errorf("%s %s: %s", o.What, o.Set, got)
		}
		if s := r.Control().State(); len(s.Unmet) > 0 {
			t.Errorf("%s %s: %+v", o.What, o.Set, s.Unmet)
		}
		r.revoke(t, made.Override.ID)
	}
	none := r.override(t, control.Override{What: control.Limit, Set: control.Max, Value: 0, Scope: control.Scope{Stage: "concurrency", Limit: "slots"}})
	if got := r.ask(t, "/", "fresh"); got != "429" {
		t.Errorf("a maximum of 0: %s", got)
	}
	r.revoke(t, none.Override.ID)
}

// A quota of the calendar is rescaled as a rate is, for all and for one caller.
func TestOverridesOfAQuota(t *testing.T) {
	r := start(t, file(t, `version: 1
identity: {trusted_proxies: [127.0.0.0/8], caller: [trusted-header:X-Caller, address]}
stages: [{stage: ratelimit, limits: [{name: monthly, quota: 1/month}]}]
`), hello)
	r.ask(t, "/", "a")
	for _, o := range []control.Override{
		{What: control.Limit, Set: control.Scale, Value: 10, Scope: control.Scope{Stage: "ratelimit", Limit: "monthly"}},
		{What: control.Caller, Set: control.Scale, Value: 40, Scope: control.Scope{Caller: "a"}},
	} {
		if got := r.ask(t, "/", "a"); got != "429" {
			t.Fatalf("before %s %s: %s", o.What, o.Set, got)
		}
		made := r.override(t, o)
		if got := r.ask(t, "/", "a"); got != "ok" {
			t.Errorf("%s %s: %s", o.What, o.Set, got)
		}
		if s := r.Control().State(); len(s.Unmet) > 0 {
			t.Errorf("%s %s: %+v", o.What, o.Set, s.Unmet)
		}
		r.revoke(t, made.Override.ID)
	}
}

func TestOverridesOfTheShedders(t *testing.T) {
	r := start(t, file(t, policyFile), hello)
	r.override(t, control.Override{What: control.Reserve, Set: control.Share, Value: 0.6})
	r.override(t, control.Override{What: control.Reserve, Set: control.Capacity, Value: 50})
	pin := r.override(t, control.Override{What: control.Pin, Set: control.Level, Value: 2})
	if got := r.ask(t, "/", "a"); got != "503" {
		t.Errorf("pinned at 2, normal traffic: %s", got)
	}
	redistest.Eventually(t, "the fleet hears of the terms", func() bool { return r.built.Load().Live.Member().Lease().Capacity == 50 })
	for name, s := range stagesOf[*workershed.Stage](r.Process) {
		if snap := s.State().Snapshot(); !snap.Pinned || snap.Level != 2 {
			t.Errorf("%s: %+v", name, snap)
		}
	}
	r.revoke(t, pin.Override.ID)
	for _, s := range stagesOf[*workershed.Stage](r.Process) {
		if snap := s.State().Snapshot(); snap.Pinned || snap.Level == 0 {
			t.Errorf("released: pinned %t, level %v, which should sink slowly", snap.Pinned, snap.Level)
		}
	}
}

func TestDryRunsRefuseNobody(t *testing.T) {
	r := start(t, file(t, policyFile), hello)
	r.override(t, control.Override{What: control.Shed, Scope: control.Scope{Below: "critical"}, DryRun: true})
	r.override(t, control.Override{What: control.Caller, Set: control.Block, Scope: control.Scope{Caller: "b"}, DryRun: true})
	if got := r.ask(t, "/", "b"); got != "ok" {
		t.Errorf("a dry run refused: %s", got)
	}
	if e, ok := r.stage(trialEntry); !ok || e.Mode != pipeline.Shadow {
		t.Errorf("%+v", e)
	}
}

// What a reload and overrides say holds together, and what has nothing to say
// any more is told.
func TestAReloadKeepsOverrides(t *testing.T) {
	path := file(t, policyFile)
	r := start(t, path, hello)
	r.override(t, control.Override{What: control.Shed, Scope: control.Scope{Below: "high"}})
	limit := r.override(t, control.Override{What: control.Limit, Set: control.Off, Scope: control.Scope{Stage: "ratelimit", Limit: "per-caller"}})
	write(t, path, strings.ReplaceAll(policyFile, "name: per-caller", "name: renamed"))
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := r.ask(t, "/", "a"); got != "503" {
		t.Errorf("after the reload: %s", got)
	}
	redistest.Eventually(t, "the override that lost its limit is told", func() bool {
		s := r.Control().State()
		return len(s.Unmet) == 1 && s.Unmet[0].ID == limit.Override.ID && strings.Contains(s.Unmet[0].Why, `has no limit "per-caller"`)
	})
	write(t, path, policyFile)
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, "and is in effect again", func() bool { return len(r.Control().State().Unmet) == 0 })
}

func TestWhatHasNoEffectIsTold(t *testing.T) {
	r := start(t, file(t, policyFile), hello)
	want := map[string]string{}
	for why, o := range map[string]control.Override{
		`there is no stage "x"`:            {What: control.StageMode, Set: control.Off, Scope: control.Scope{Stage: "x"}},
		`has no limit "y"`:                 {What: control.Limit, Set: control.Off, Scope: control.Scope{Stage: "ratelimit", Limit: "y"}},
		`has no limits`:                    {What: control.Limit, Set: control.Off, Scope: control.Scope{Stage: "workershed", Limit: "y"}},
		`max is for limits of concurrency`: {What: control.Limit, Set: control.Max, Value: 3, Scope: control.Scope{Stage: "ratelimit", Limit: "all"}},
		`"x" of kind workershed`:           {What: control.Pin, Set: control.Level, Scope: control.Scope{Stage: "x"}},
		`the route "/{a" `:                 {What: control.Shed, Scope: control.Scope{Below: "high", Route: "/{a"}},
		`22 characters`:                    {What: control.Caller, Set: control.Block, Scope: control.Scope{Caller: "id:abc"}},
	} {
		want[r.override(t, o).Override.ID] = why
	}
	s := r.Control().State()
	if len(s.Unmet) != len(want) {
		t.Errorf("%+v", s.Unmet)
	}
	for _, u := range s.Unmet {
		if !strings.Contains(u.Why, want[u.ID]) {
			t.Errorf("%q, want %q", u.Why, want[u.ID])
		}
	}
	if got := r.ask(t, "/", "a"); got != "ok" {
		t.Errorf("%s", got)
	}
}

// Overrides outlive the process that they were made in.
func TestOverridesSurviveARestart(t *testing.T) {
	path := file(t, policyFile+"control: {dir: "+filepath.Join(t.TempDir(), "control")+"}\n")
	r := start(t, path, hello)
	r.override(t, control.Override{What: control.Shed, Scope: control.Scope{Below: "critical"}})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, path, hello)
	redistest.Eventually(t, "it serves", func() bool { return again.ready() })
	if got := again.ask(t, "/", "a"); got != "503" {
		t.Errorf("after a restart: %s", got)
	}
	names := []string{}
	for i := range again.pipeline.Plan().Len() {
		names = append(names, again.pipeline.Plan().Entry(i).Name)
	}
	if !slices.Contains(names, overridesEntry) {
		t.Errorf("%v", names)
	}
}
