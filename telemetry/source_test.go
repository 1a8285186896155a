package telemetry

import (
	"fmt"
	"slices"
	"testing"
)

// What others tell can be wrong; it never fails a scrape, in which everything
// else would be lost.
func TestSourcesThatAreWrong(t *testing.T) {
	observer := made(t, Config{Sources: []Source{
		{Serving, func() []Point { panic("planted") }},
		{StoreState, func() []Point {
			return []Point{{nil, 1}, {[]string{"a", "b"}, 1}, {[]string{"redis"}, 2}, {[]string{"redis"}, 1}}
		}},
		{WorkerLimit, func() (points []Point) {
			for i := range 1000 {
				points = append(points, Point{[]string{fmt.Sprint(i)}, 1})
			}
			return points
		}},
	}})
	wantLines(t, scrape(t, observer), `plimsoll_store_state{driver="redis"} 2`)
	for m, want := range map[Metric]int{Serving: 0, StoreState: 1, WorkerLimit: mostPoints, ConfigOK: 0} {
		if got := observer.Points(m); len(got) != want {
			t.Errorf("%s has %d points, want %d", m, len(got), want)
		}
	}
}

// A counter of somebody who begins anew goes on from where it was, and so does
// one that is not told for a while.
func TestCountersOfOthersNeverFall(t *testing.T) {
	var told []Point
	observer := made(t, Config{Sources: []Source{{StoreFailures, func() []Point { return told }}}})
	for i, step := range []struct{ tells, want float64 }{{5, 5}, {7, 7}, {0, 7}, {2, 9}, {-1, 0}, {3, 10}, {1, 11}} {
		told = []Point{{[]string{"late"}, step.tells}, {[]string{"failed"}, 1}}
		if step.tells < 0 {
			told = nil // its stage is not in the plan
		}
		got := observer.Points(StoreFailures)
		if step.tells < 0 && len(got) == 0 {
			continue
		}
		if got[0].Value != step.want || got[1].Value != 1 {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

func TestPoints(t *testing.T) {
	observer := busy(t, "")
	got := observer.Points(Refusals)
	want := []Point{
		{[]string{"dark", "dark", "fleet-shed", "high", "shadow"}, 1},
		{[]string{"limit", "ratelimit", "rate-limited", "high", "enforce"}, 1},
	}
	if !slices.EqualFunc(got, want, func(a, b Point) bool { return a.Value == b.Value && slices.Equal(a.Labels, b.Labels) }) {
		t.Errorf("refusals: %v", got)
	}
	if observer.Points(RequestDuration) != nil || observer.Points("nothing") != nil {
		t.Error("points of what has none")
	}
}
