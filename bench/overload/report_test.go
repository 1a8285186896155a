package overload

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// result is a run with a share of critical and a goodput.
func result(contestant, setting, experiment string, critical, goodput float64) *Result {
	r := &Result{Run: Run{contestant, setting, experiment, 1}, Capacity: 100, Goodput: goodput, Recovery: -1, P99: time.Second}
	r.Good[priority.Critical.Index()] = critical
	r.Seconds = []Second{{Offered: 300, Good: 100 * goodput, CriticalOffered: 60, CriticalGood: 60 * critical}}
	return r
}

func TestTheBestSettingIsTheOneThatServesMore(t *testing.T) {
	tried := []*Result{
		result("a", "default", "E1-3x", 0.3, 0.9), result("a", "wide", "E1-3x", 0.5, 0.9), result("a", "narrow", "E1-3x", 1, 0.1),
		result("a", "default", "E2-pieces", 0.9, 0.9), result("b", "x", "E1-3x", 0, 0),
	}
	if got := best(tried, "E1-3x"); got["a"] != "wide" || got["b"] != "x" || len(got) != 2 {
		t.Errorf("chosen: %v", got)
	}
	if got := best(tried, "E2-pieces"); got["a"] != "default" {
		t.Errorf("chosen for what computes: %v", got)
	}
}

func TestRowsAreMediansWithTheirRange(t *testing.T) {
	r := &Report{Results: []*Result{
		result("a", "x", "E1-3x", 0.5, 0.9), result("a", "x", "E1-3x", 0.7, 0.8), result("a", "x", "E1-3x", 0.6, 0.7),
		result("b", "y", "E1-3x", 1, 0.9), result("b", "y", "E1-8x", 0.1, 0.1),
	}}
	rows := r.Rows("E1-3x")
	if len(rows) != 2 || rows[0].Contestant != "b" {
		t.Fatalf("rows are %+v", rows)
	}
	a := rows[1]
	if a.Runs != 3 || a.Critical != (Spread{0.5, 0.6, 0.7}) || a.Goodput != (Spread{0.7, 0.8, 0.9}) || a.Recovery.Median != never {
		t.Errorf("a is %+v", a)
	}
	if got := a.Seconds[0]; math.Abs(got.CriticalGood/got.CriticalOffered-0.6) > 1e-9 || got.Offered != 3 {
		t.Errorf("its second is %+v", got)
	}
	page := r.Markdown()
	for _, want := range []string{"## E1-3x: waits, 3x", "60.0 (50.0 to 70.0)", "not in this run", "## E1-8x"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}

// Of E3 the page also tells what became of critical calls while all were slow.
func TestRowsTellWhatHappensMeanwhile(t *testing.T) {
	a := result("a", "x", "E3", 1, 1)
	a.Seconds = nil
	for second := range 24 {
		good := 100.0
		if second >= 4 && second < 14 {
			good = float64(second) // 85 of 1,000
		}
		a.Seconds = append(a.Seconds, Second{At: float64(second), CriticalOffered: 100, CriticalGood: good})
	}
	r := &Report{Results: []*Result{a}}
	if got := r.Rows("E3")[0].Meanwhile.Median; math.Abs(got-0.085) > 1e-9 {
		t.Errorf("critical meanwhile: %v", got)
	}
	for _, want := range []string{"| critical while slow % |", "| 8.5 |", "1.6 times what can be done then (slow): no more than 62.5 %"} {
		if page := r.Markdown(); !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}

func TestTheMedianOfAnEvenNumberIsBetweenTheTwo(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{4}, 4}, {[]float64{1, 4}, 2.5}, {[]float64{9, 1, 2}, 2}, {[]float64{never, 3}, never}, {[]float64{1, 2, 3, never}, 2.5}} {
		if got := spread(c.values).Median; got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestChangesCountBeginningsAndEnds(t *testing.T) {
	refused := func(shares ...float64) (list []Second) {
		for _, s := range shares {
			list = append(list, Second{Offered: 100, Refuse: 100 * s})
		}
		return list
	}
	for _, c := range []struct {
		seconds []Second
		want    float64
	}{
		{refused(0, 0, 0, 0), 0}, {refused(0, 0.5, 0.5, 0.5), 15}, {refused(0, 0.5, 0, 0.5), 45}, {refused(0.03, 0.06, 0.03, 0.02), 15},
	} {
		if got := changes(c.seconds); got != c.want {
			t.Errorf("%v: %v changes a minute, want %v", c.seconds, got, c.want)
		}
	}
}

func TestChartsShowEveryContestantOnce(t *testing.T) {
	r := &Report{Results: []*Result{
		result("plimsoll", "x", "E1-3x", 1, 0.9), result("plimsoll", "x", "E1-8x", 1, 0.9), result("plimsoll", "y", "E1-8x", 0.2, 0.9),
		result("nothing", "none", "E1-3x", 0, 0), result("nothing", "none", "E1-8x", 0, 0),
	}}
	charts := r.Charts()
	critical := charts["critical.svg"]
	if len(critical.Lines) != 3 || critical.Lines[2].Points[20] != (Point{8, 0.625}) || !critical.Lines[0].Thick || critical.Lines[0].Points[1] != (Point{8, 1}) || critical.Lines[1].Thick {
		t.Errorf("critical.svg is %+v", critical.Lines)
	}
	if _, ok := charts["e1-8x.svg"]; !ok || len(charts) != 2+2*2 {
		t.Errorf("%d charts", len(charts))
	}
	if svg := critical.SVG(); strings.Count(svg, `stroke-linejoin="round"`) != 3 || !strings.Contains(svg, ">plimsoll<") || strings.Contains(svg, "NaN") {
		t.Errorf("drawn:\n%s", svg)
	}
}

func TestLabelsDoNotOverlap(t *testing.T) {
	list := []label{{0, 100, 100}, {1, 102, 102}, {2, 384, 384}, {3, 385, 385}, {4, 385, 385}, {5, 60, 60}}
	spread1D(list)
	for i := range list[1:] {
		if list[i+1].to-list[i].to < lineHeight || list[i+1].at < list[i].at {
			t.Errorf("%+v and %+v", list[i], list[i+1])
		}
	}
	if list[0].to != 60 || list[1].to != 100 || list[5].to > chartHeight-bottom {
		t.Errorf("%+v", list)
	}
}
