package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/priority"
)

func state(admitted, refused uint64) *admin.Status {
	return &admin.Status{
		Version: "v1", State: admin.Serving, Uptime: time.Hour, InFlight: 3, Store: admin.Store{State: "ok"}, Fleet: admin.Fleet{Live: 2, Stale: 1},
		Stages: []admin.Stage{{Name: "ratelimit", Mode: "shadow"}, {Name: "workershed", Kind: "workershed", Mode: "enforce", Detail: map[string]any{
			"limit": 30, "max_in_flight": 40, "in_flight": []int{0, 1, 2, 3}, "queued": []int{4, 0, 0, 0}, "level": 0.5, "utilization": 0.25, "demand": 1.75,
		}}},
		Counts: admin.Counts{
			Classes: []admin.ClassCounts{{Class: priority.Critical, Admitted: admitted}, {Class: priority.Low, Rejected: refused}},
			Entries: []admin.EntryCounts{{Entry: "workershed", Rejected: []admin.RefusalCount{{Class: priority.Low, Count: refused}}}},
		},
	}
}

func TestTopShowsRates(t *testing.T) {
	var top Top
	if top.Ready() || len(top.Frame(80, 40, noon)) != 1 {
		t.Error("nothing was seen, and something is shown")
	}
	top.See(&Event{Live: state(100, 0)}, noon)
	if top.Ready() {
		t.Error("one state has no rates")
	}
	top.See(&Event{Overrides: overridden()}, noon)
	top.See(&Event{Live: state(150, 30)}, noon.Add(2*time.Second))
	top.Rank(&admin.Top{Callers: admin.Ranking{
		ByRefusals: []insight.Heavy{{Name: "crawler \x1b[2J" + strings.Repeat("x", 90), Refused: 28}, {Name: "nobody"}},
		BySeconds:  []insight.Heavy{{Name: "a", Seconds: 4.25}, {Name: "b", Seconds: 1}},
	}})
	text := strings.Join(top.Frame(80, 100, noon), "\n") + "\n"
	fits(t, text)
	has(t, text, "plimsoll v1  serving for 1h00m  3 in flight  store ok  12:00:00Z", "room for 30 of 40, 25% in use, 175% wanted, shedding level 0.50 of 3",
		"fleet: 2 live, 1 silent", "critical  25.0        0.0        0.0     3          0", "low       0.0         15.0       0.0     0          4",
		"workershed  enforce  15.0       0.0             30", "ov-aaaaaaaaaa  29m03s", "crawler ·[2Jxxxxxxxxx…  28       a                    4.2")
	if strings.Contains(text, "nobody") {
		t.Error("who was never refused is among the refused")
	}
	if lines := top.Frame(30, 5, noon); len(lines) != 5 || len([]rune(lines[0])) != 30 {
		t.Errorf("on a small screen: %q", lines)
	}
	top.See(&Event{Live: state(1, 1)}, noon.Add(3*time.Second)) // it was started anew
	has(t, strings.Join(top.Frame(80, 40, noon), "\n"), "critical  -")
}

func TestEvents(t *testing.T) {
	client := serving(t, &seen{}, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 3 {
			told(w, 503, "busy", "")
			return
		}
		fmt.Fprint(w, "retry: 2000\n\nevent: overrides\nid: x\ndata: {\"version\":4}\n\n: alive\n\nevent: later\ndata: {}\n\nevent: live\ndata: {\"state\":\"serving\"}\n\n")
		w.(http.Flusher).Flush()
		if n == 2 {
			<-r.Context().Done()
		}
	})
	var got []string
	note := func(e *Event) bool {
		if e.Overrides != nil {
			got = append(got, fmt.Sprint(e.Overrides.Version))
		} else {
			got = append(got, e.Live.State)
		}
		return true
	}
	if f, ok := errors.AsType[*Failure](client.Events(t.Context(), note)); !ok || f.Kind != Unreachable || strings.Join(got, " ") != "4 serving" {
		t.Errorf("%v after %q", f, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := client.Events(ctx, func(e *Event) bool {
		if e.Live != nil {
			cancel()
		}
		return true
	}); err != nil {
		t.Errorf("who leaves is told %v", err)
	}
	if f, ok := errors.AsType[*Failure](client.Events(t.Context(), note)); !ok || f.Sentence != "no" {
		t.Errorf("a refusal is told as %v", f)
	}
}
