package workershed

import (
	"strings"
	"testing"
	"time"
)

func TestTimelineTellsAnIncident(t *testing.T) {
	var line timeline
	at := int64(1e18)
	step := func(c Change, after time.Duration) {
		at += int64(after)
		c.Began, c.Ended = at, at
		line.note(c)
	}
	for i := range 5 {
		step(Change{Subject: Limit, Signal: RunQueue, Value: 0.012 + float64(i)/1000, From: float64(40 - i), To: float64(39 - i)}, 100*time.Millisecond)
		step(Change{Subject: Level, Signal: Utilization, Value: 0.9, From: float64(i), To: float64(i + 1)}, 900*time.Millisecond)
	}
	step(Change{Subject: Limit, Signal: InUse, Value: 30, From: 35, To: 36}, time.Second)
	step(Change{Subject: Limit, Signal: InUse, Value: 31, From: 36, To: 37}, timelineGap+1)
	var told []string
	for _, c := range line.since(0) {
		told = append(told, c.String())
	}
	want := strings.Join([]string{
		"limit 40 to 35 in 4s: run-queue 0.016",
		"level 0 to 5 in 4s: utilization 0.9",
		"limit 35 to 36 in 0s: in-use 30",
		"limit 36 to 37 in 0s: in-use 31",
	}, "\n")
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
	if got := line.since(at); len(got) != 1 {
		t.Errorf("%d changes of the last moment, want 1", len(got))
	}
}

func TestTimelineIsBounded(t *testing.T) {
	var line timeline
	for i := range 10_000 {
		moment := int64(i) * int64(time.Minute)
		line.note(Change{From: float64(i), To: float64(i + 1), Began: moment, Ended: moment})
	}
	all := line.since(0)
	if len(all) != len(line.changes) || all[0].From != float64(10_000-len(line.changes)) || all[len(all)-1].To != 10_000 {
		t.Errorf("%d changes from %v to %v", len(all), all[0].From, all[len(all)-1].To)
	}
}

func TestTurningBackIsAnotherChange(t *testing.T) {
	var line timeline
	for i, to := range []float64{1, 2, 1, 2} {
		line.note(Change{Subject: Limit, Signal: Operator, From: 3 - to, To: to, Began: int64(i), Ended: int64(i)})
	}
	if got := len(line.since(0)); got != 4 {
		t.Errorf("%d changes, want 4", got)
	}
}
