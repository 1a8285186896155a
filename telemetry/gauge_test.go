package telemetry

import (
	"fmt"
	"slices"
	"testing"
)

// What others tell can be wrong; it never fails a scrape, in which everything
// else would be lost.
func TestGaugesThatAreWrong(t *testing.T) {
	observer := made(t, Config{Gauges: []Gauge{
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
