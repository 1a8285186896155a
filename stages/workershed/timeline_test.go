package workershed

import (
	"strings"
	"testing"
	"time"
)

// teller notes steps and reads them back.
type teller struct {
	timeline
	now int64
}

func (l *teller) step(after time.Duration, what Subject, why Signal, value, from, to float64) {
	l.now += int64(after)
	l.note(step(what, why, value, from, to).at(l.now))
}

func (l *teller) mustTell(t *testing.T, want ...string) {
	t.Helper()
	var told []string
	for _, c := range l.since(0) {
		told = append(told, c.String())
	}
	if got, want := strings.Join(told, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
}

func TestTimelineTellsAnIncident(t *testing.T) {
	l := teller{now: 1e18}
	for i := range 300 { // five minutes up, and between them the limit
		l.step(time.Second, Level, Utilization, 0.9, float64(i)/100, float64(i+1)/100)
		if i < 4 {
			l.step(0, Limit, RunQueue, 0.012+float64(i)/1000, float64(40-i), float64(39-i))
		}
	}
	for i := range 300 { // and down again
		l.step(time.Second, Level, Utilization, 0.1, 3-float64(i)/100, 3-float64(i+1)/100)
	}
	l.mustTell(t,
		"level 0 to 3 in 4m59s: utilization 0.9",
		"limit 40 to 36 in 3s: run-queue 0.015",
		"level 3 to 0 in 4m59s: utilization 0.1",
	)
	if got := l.since(l.now); len(got) != 1 {
		t.Errorf("%d changes of the last moment, want 1", len(got))
	}
}

// A limit that goes to and fro for an hour fills one line a minute, each of
// which says between what, and names the trouble and not the relief.
func TestGoingToAndFroIsToldByTheMinute(t *testing.T) {
	l := teller{now: 1e18}
	for range 1800 {
		l.step(time.Second, Limit, InUse, 20, 10, 12)
		l.step(time.Second, Limit, RunQueue, 0.011, 12, 10)
	}
	told := l.since(0)
	if len(told) < 50 || len(told) > 61 {
		t.Fatalf("%d lines, want about one a minute", len(told))
	}
	for _, c := range told[:len(told)-1] {
		if c.Least != 10 || c.Most != 12 || c.Signal != RunQueue || c.Value != 0.011 || c.Steps < 50 {
			t.Fatalf("%v, %d steps", c, c.Steps)
		}
	}
	if got := told[0].String(); got != "limit 10 to 12 in 1m0s: run-queue 0.011" {
		t.Error(got)
	}
}

func TestWhatAPersonDidStandsForItself(t *testing.T) {
	l := teller{now: 1e18}
	l.step(0, Level, Utilization, 0.9, 0, 0.5)
	l.step(time.Second, Level, Operator, 2, 0.5, 2)
	l.step(time.Second, Level, Operator, 3, 2, 3)
	l.step(time.Second, Level, Utilization, 0.1, 3, 2.9)
	l.mustTell(t,
		"level 0 to 0.5 in 0s: utilization 0.9", "level 0.5 to 2 in 0s: operator 2",
		"level 2 to 3 in 0s: operator 3", "level 3 to 2.9 in 0s: utilization 0.1",
	)
}

func TestStepsFarApartAreTwoChanges(t *testing.T) {
	l := teller{now: 1e18}
	l.step(0, Limit, Calm, 1, 10, 20)
	l.step(timelineGap, Limit, Calm, 2, 20, 30)
	l.step(timelineGap+1, Limit, Calm, 3, 30, 40)
	l.mustTell(t, "limit 10 to 30 in 10s: calm 2", "limit 30 to 40 in 0s: calm 3")
}

func TestTimelineIsBounded(t *testing.T) {
	var l teller
	for i := range 10_000 {
		l.step(time.Minute, Limit, Calm, 0, float64(i), float64(i+1))
	}
	all := l.since(0)
	if len(all) != len(l.changes) || all[0].From != float64(10_000-len(l.changes)) || all[len(all)-1].To != 10_000 {
		t.Errorf("%d changes from %v to %v", len(all), all[0].From, all[len(all)-1].To)
	}
}
