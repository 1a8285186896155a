package process

import (
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

const trialFile = `version: 1
identity: {trusted_proxies: [127.0.0.0/8], caller: [trusted-header:X-Caller, address]}
stages:
  - stage: ratelimit
    limits:
      - {name: attempts, key: [caller], rate: 3/h, burst: 3, charge: attempts}
      - {name: per-caller, key: [caller], rate: 5/h, burst: 5}
  - stage: workershed
    max_in_flight: 100
`

func (r *running) trial(t *testing.T, caller string) (pipeline.Explanation, *pipeline.Request) {
	t.Helper()
	q := &pipeline.Request{}
	imagined := httptest.NewRequest("GET", "/x", nil)
	imagined.RemoteAddr = "127.0.0.1:1"
	imagined.Header.Set("X-Caller", caller)
	x, seen := r.explain(q, imagined)
	if !seen {
		t.Fatal("the request is exempt")
	}
	return x, q
}

// An imagined request is described as a real one, meets the same limits, and
// leaves every one of them as it was: also those that charge attempts, and the
// counters of the shedders.
func TestAnImaginedRequestLeavesNoTrace(t *testing.T) {
	r := start(t, file(t, trialFile), hello)
	for range 10 {
		if x, q := r.trial(t, "ann"); x.Decision.Verdict != pipeline.Admit || q.Caller.Name != "ann" {
			t.Fatalf("%+v of %+v", x.Decision, q.Caller)
		}
	}
	for range 3 {
		if got := r.ask(t, "/x", "ann"); got != "ok" {
			t.Fatalf("three attempts were left: %s", got)
		}
	}
	x, _ := r.trial(t, "ann")
	if x.Decision.Reason != pipeline.RateLimited || x.Detail.Rule != "attempts" {
		t.Errorf("after three attempts: %+v", x)
	}
	if x, _ := r.trial(t, "bob"); x.Entries[0].Claims[0].Grant.Remaining != 4 {
		t.Errorf("bob's bucket: %+v", x.Entries[0])
	}

	r.override(t, control.Override{What: control.Pin, Set: control.Level, Value: 3})
	worker, _ := r.stage("workershed")
	snapshot := worker.Stage.(*workershed.Stage).State().Snapshot
	before := snapshot()
	for range 5 {
		if x, _ := r.trial(t, "bob"); x.Decision.Reason != pipeline.WorkerShed {
			t.Fatalf("at level 3: %+v", x)
		}
	}
	if after := snapshot(); !reflect.DeepEqual(before.RefusedByLevel, after.RefusedByLevel) {
		t.Errorf("refusals were counted: %+v, then %+v", before.RefusedByLevel, after.RefusedByLevel)
	}
	if got := r.ask(t, "/x", "bob"); got != "503" {
		t.Fatalf("at level 3: %s", got)
	}
	if after := snapshot(); reflect.DeepEqual(before.RefusedByLevel, after.RefusedByLevel) {
		t.Error("a real refusal was not counted")
	}
}
