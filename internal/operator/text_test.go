package operator

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/priority"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func overridden() *admin.Overrides {
	long := strings.Repeat("very ", 40)
	return &admin.Overrides{
		Overrides: []control.Override{
			{
				ID: "ov-aaaaaaaaaa", What: control.Shed, Scope: control.Scope{Below: "high", Route: "/" + long}, Percent: 50, Reason: "slow \x1b[2J" + long, Incident: "INC-1",
				Author: "somebody-with-a-long-name", ExpiresAt: noon.Add(29*time.Minute + 3*time.Second),
			},
			{ID: "ov-bbbbbbbbbb", What: control.Pin, Set: control.Level, Value: 1.5, Author: "ann", Reason: "why", Pending: true, ExpiresAt: noon.Add(50 * time.Hour)},
			{ID: "ov-cccccccccc", What: control.Bypass, ExpiresAt: noon},
		},
		Local: []control.Override{{ID: "ov-dddddddddd", What: control.Caller, Set: control.Block, Scope: control.Scope{Caller: "c"}, DryRun: true, LocalOnly: true, Reason: "why", ExpiresAt: noon.Add(time.Second)}},
		Unmet: []control.Unmet{{ID: "ov-bbbbbbbbbb", Why: "there is no stage of kind workershed"}},
		Error: "control: gone",
	}
}

// fits fails for what a terminal of 80 columns breaks or obeys.
func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > 80 || strings.ContainsAny(line, "\x1b\t\r") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in\n%s", part, text)
		}
	}
}

func TestTheTableOfOverrides(t *testing.T) {
	text := Table(overridden(), noon)
	fits(t, text)
	has(t, text, "ov-aaaaaaaaaa  29m03s   somebody-wi…  shed 50% of callers below high, on", "INC-1: slow ·[2J", "2d2h", "waits: plimsoll approve ov-bbbbbbbbbb",
		"no effect here: there is no stage of kind", "dry run: caller c: block, of this worker", "the storage does not answer, what is known holds until it ends: gone", "\n                                        alone")
	if strings.Contains(text, "ov-cccccccccc") {
		t.Error("what ended is in force")
	}
	has(t, Table(&admin.Overrides{}, noon), "no overrides are in force")
}

func TestWhatAChangeDid(t *testing.T) {
	o := &overridden().Overrides[0]
	has(t, Done(control.Create, &control.Result{Seq: 7, Override: *o}, noon), "in force until 12:29:03Z (29m03s)", "plimsoll undo 7 takes it back\n")
	has(t, Done(control.Revoke, &control.Result{Override: *o}, noon), "ended; ")
	has(t, Done(control.Undo, &control.Result{Override: *o, Replayed: true}, noon), "taken back", "it had been made before")
	has(t, Done(control.Create, &control.Result{Override: overridden().Overrides[1]}, noon), "waits for another person")
	has(t, Done(control.Create, &control.Result{Override: overridden().Local[0]}, noon), "with --local")
}

func TestAPreviewSaysWhomItMeets(t *testing.T) {
	p := &control.Preview{Override: control.Override{What: control.Shed, Scope: control.Scope{Below: "high"}, Created: noon, ExpiresAt: noon.Add(time.Hour)}, Replaces: []string{"ov-x"}, Unmet: "no route"}
	p.Past = control.Past{Known: true, Answer: insight.Answer{
		From: noon.Add(-10 * time.Minute), To: noon, Share: insight.Share{Offered: 100, Refused: 5, Would: 40},
		Classes: []insight.Share{{Name: "low", Offered: 80, Would: 40}}, Callers: []insight.Share{{Name: strings.Repeat("x", 90)}},
	}}
	text := Foretold(p)
	fits(t, text)
	has(t, text, "shed all below high, for 1h00m", "no effect in this worker: no route", "goes above ov-x", "of the last 10m00s in this worker: 100 came, 5 were refused,\n40 more would be, 0 fewer", "50%")
	p.Past = control.Past{Note: "cannot be told"}
	has(t, Foretold(p), "cannot be told")
}

func TestAnExplanation(t *testing.T) {
	x := &admin.Explained{
		Reason: "rate-limited", Stage: "ratelimit", Limit: "per-caller", RetryAfter: 1500, Caller: "c", Class: priority.High, Cohort: 4, Route: "/x",
		Stages: []admin.Answer{
			{Stage: "operator.overrides", Mode: "enforce", Answer: "admit"},
			{Stage: "ratelimit", Mode: "enforce", Answer: "refuse", Reason: "rate-limited", Limits: []admin.Margin{{Limit: "per-caller", Rate: "50/s", Of: 50, Cost: 2, RetryAfter: -1}}, Overrides: []string{"ov-x"}},
			{Stage: "workershed", Mode: "shadow", Answer: "refuse", Reason: "worker-shed", Left: 0, Of: 8, RetryAfter: 1000},
			{Stage: "old", Mode: "off", Answer: "not asked", Fault: "boom"},
		},
	}
	text := Explanation(x)
	fits(t, text)
	has(t, text, "would be refused: rate-limited by ratelimit, per-caller, again in 1.5s\n", "cohort 4 of 128", "per-caller: 0 of 50 left at 50/s, not",
		"by override ov-x", "worker-shed, again in 1s", "room for 0 of 8", "could not decide: boom")
	has(t, Explanation(&admin.Explained{Admitted: true, Exempt: true, Bypass: "ov-y"}), "the request is exempt", "override ov-y bypasses every stage")
}

// Whatever clients put into names stays in its cell, of a terminal and of a
// document.
func TestNamesMoveNothing(t *testing.T) {
	evil := "\x1b]0;owned\a|<script>`x`\n# heading"
	d := admin.Decided{Caller: evil, Route: evil, Reason: "operator-shed", ID: "0123456789abcdef0123456789abcdef", At: noon}
	fits(t, Refusals([]admin.Decided{d}))
	fits(t, Why(&d))
	fits(t, Holders([]admin.Held{{ID: d.ID, Caller: evil, Route: evil, Class: "critical", Seconds: 4000, Left: true, Overdue: true}}))
	fits(t, Tokens([]admin.Token{{ID: "224UZX77S5", Name: evil, Author: evil, Used: noon, Expires: noon.Add(24 * time.Hour)}}, noon))
	fits(t, Records([]control.Record{{Seq: 1, Time: noon, Actor: control.Actor{Name: evil}, Action: control.Create, Outcome: control.Stale, Detail: strings.Repeat(evil, 9)}}))
	text := Markdown(&admin.Report{
		Incident: evil, Made: noon, Top: admin.Top{Callers: admin.Ranking{ByRefusals: []insight.Heavy{{Name: evil, Refused: 3}}}},
		Timeline: []insight.Event{{At: noon.UnixNano(), Kind: "level", What: "up", From: "0", To: "1"}},
		Trail:    []control.Record{{Seq: 4, Time: noon, Action: control.Revoke, Outcome: control.Applied, Subject: "ov-x", Before: &overridden().Overrides[0]}},
	})
	if strings.Contains(text, "\x1b") || strings.Contains(text, "<script") || strings.Contains(text, "\n# heading") || strings.Contains(text, "owned·|") {
		t.Errorf("it got out:\n%s", text)
	}
	has(t, text, "# Incident ·]0;owned", "| 2026-07-01 12:00:00Z | level | up (0 → 1) |", "| 4 | 2026-07-01 12:00:00Z |  | revoke | ov-x shed 50% of callers", "## Overrides\n\nNone.")
}

func TestVerified(t *testing.T) {
	has(t, Verified(&control.Verification{}), "the trail is empty")
	has(t, Verified(&control.Verification{Records: 3, First: 1, Last: 3, Head: "ab"}), "3 records, 1 to 3", "head ab")
	has(t, Verified(&control.Verification{Records: 3, Broken: 4, Problem: "it was altered"}), "broken at record 4: it was altered")
}
