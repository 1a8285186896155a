package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/priority"
)

// sample is a process in trouble: something stands in every place.
func sample(t *testing.T) []byte {
	t.Helper()
	body, err := json.Marshal(admin.Status{
		Version: "v1.2.3", State: admin.Draining, Uptime: 3*time.Hour + 300*time.Millisecond,
		Listen: "127.0.0.1:8080", Upstream: "http://127.0.0.1:9000", InFlight: 7,
		Config: admin.Configuration{
			Source: "plimsoll.yaml", Generation: 3, Loaded: time.Unix(2000, 0).UTC(),
			Error: "plimsoll.yaml:3:1: nonsense\nplimsoll.yaml:4:1: more of it", Refused: time.Unix(3000, 0).UTC(),
			AfterRestart: []string{"listen", "store.driver"},
		},
		Store: admin.Store{Driver: "memory", State: "degraded", Keys: 1000, MaxKeys: 1000, Spilled: 8},
		Stages: []admin.Stage{
			{Name: "ratelimit-trial", Kind: "ratelimit", Mode: "shadow", OnFault: "local"},
			{Name: "workershed", Kind: "workershed", Mode: "enforce", OnFault: "open", Detail: map[string]any{
				"limit": 30, "max_in_flight": 40, "in_flight": []int{0, 1, 2, 3}, "queued": []int{4, 0, 0, 0},
				"level": 0.5, "utilization": 0.25, "demand": 1.75, "from_a_later_version": true,
			}},
		},
		Counts: admin.Counts{
			Classes: []admin.ClassCounts{{Class: priority.Critical, Admitted: 500, Abandoned: 2}, {Class: priority.Low, Rejected: 4}},
			Entries: []admin.EntryCounts{
				{Entry: "ratelimit-trial", Shadowed: []admin.RefusalCount{{Class: priority.Low, Reason: "rate-limited", Count: 9}}},
				{
					Entry: "workershed", Rejected: []admin.RefusalCount{{Class: priority.Low, Reason: "worker-shed", Count: 3}, {Class: priority.Low, Reason: "queue-timeout", Count: 1}},
					Faults: []admin.FaultCount{{Kind: "panic", Count: 1}, {Kind: "store", Count: 5}},
				},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

const wantTable = `plimsoll v1.2.3, draining for 3h0m0s: 127.0.0.1:8080 → http://127.0.0.1:9000
configuration plimsoll.yaml, generation 3 since 1970-01-01T00:33:20Z
  refused since 1970-01-01T00:50:00Z, the last good one goes on:
    plimsoll.yaml:3:1: nonsense
    plimsoll.yaml:4:1: more of it
  counts only after the next start: listen, store.driver
store memory is degraded; requests in flight: 7
  no room for every caller (1000 of 1000 keys in use): 8 claims were decided together; see store.max_keys

STAGE             MODE      ON FAULT   REFUSED   WOULD REFUSE   FAULTS
ratelimit-trial   shadow    local      0         9              0
workershed        enforce   open       4         0              6

CLASS      ADMITTED   REFUSED   LEFT WAITING   IN FLIGHT   QUEUED
critical   500        0         2              3           0
low        0          4         0              0           4

worker: room for 30 of 40, 25% in use, 175% if nothing were refused; shedding level 0.50 of 3
`

func TestTheTableOfAStatus(t *testing.T) {
	var got bytes.Buffer
	if err := writeTable(&got, sample(t)); err != nil {
		t.Fatal(err)
	}
	if got.String() != wantTable {
		t.Errorf("printed\n%s\nwant\n%s", got.String(), wantTable)
	}
}

// A store elsewhere is told with where it is, since when it is so, and why.
func TestTheTableTellsOfAStoreElsewhere(t *testing.T) {
	var got bytes.Buffer
	s := &admin.Status{
		InFlight: 3, Fleet: admin.Fleet{Live: 2, Stale: 1, Drained: 4, Missed: 7, Age: 3 * time.Second},
		Store: admin.Store{
			Driver: "redis", State: "down", Place: "redis.internal:6379", Since: time.Unix(2000, 0).UTC(), Cause: "connection refused",
			Calls: &admin.StoreCalls{Fallback: 10, Failed: 1, Late: 2, Skipped: 3, Crowded: 4},
		},
	}
	storeLines(&got, s)
	const want = `store redis at redis.internal:6379 is down since 1970-01-01T00:33:20Z; requests in flight: 3
  connection refused
  decided without it: 10 (1 failed, 2 late, 3 while it was down, 4 crowded)
fleet: 2 workers live, 1 silent, 4 shutting down, as of 3s ago; 7 heartbeats were not answered since
`
	if got.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", got.String(), want)
	}
}

// YAML says what JSON says, in the same order.
func TestTheYAMLOfAStatus(t *testing.T) {
	var got bytes.Buffer
	if err := writeYAML(&got, sample(t)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "status.yaml")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("printed\n%s", got.String())
	}
}

func TestWhatIsNoStatusIsSaidToBeNone(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []byte) error{"table": writeTable, "yaml": writeYAML} {
		if err := write(&bytes.Buffer{}, []byte("{")); err == nil {
			t.Errorf("%s prints half an answer", name)
		}
	}
}

func TestAPlanWithoutAWorkersStageHasATable(t *testing.T) {
	var got bytes.Buffer
	if err := writeTable(&got, []byte(`{"counts": {"classes": [{"class": "low"}]}}`)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got.Bytes(), []byte("low     0          0         0              -           -")) {
		t.Errorf("printed\n%s", got.String())
	}
}
