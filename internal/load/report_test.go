package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

func TestSecondsLieWithinPhases(t *testing.T) {
	p := Plan{Base: 1, Phases: []Phase{{Duration: 1500 * time.Millisecond}, {Duration: time.Second}, {Duration: 200 * time.Millisecond}}}
	r := newReport(&p)
	want := []Second{
		{0, 0, time.Second}, {0, time.Second, 500 * time.Millisecond},
		{1, 1500 * time.Millisecond, time.Second}, {2, 2500 * time.Millisecond, 200 * time.Millisecond},
	}
	if len(r.Seconds()) != len(want) {
		t.Fatalf("seconds are %v", r.Seconds())
	}
	for i, s := range r.Seconds() {
		if s != want[i] {
			t.Errorf("second %d is %v, want %v", i, s, want[i])
		}
	}
	for phase, want := range [][2]int{{0, 2}, {2, 3}, {3, 4}} {
		if from, to := r.Phase(phase); from != want[0] || to != want[1] {
			t.Errorf("phase %d is [%d, %d), want %v", phase, from, to, want)
		}
	}
}

func TestASecondIsJudgedWhenItsArrivalsHaveEndedOrItsDeadlinesPassed(t *testing.T) {
	p := Plan{Deadline: 250 * time.Millisecond, Phases: []Phase{{Duration: 2 * time.Second}}}
	open, ended := newReport(&p), newReport(&p)
	for _, r := range []*Report{open, ended} {
		r.offered(0, &Arrival{}, 0)
		r.offered(1, &Arrival{}, 0)
	}
	ended.ended(0, &Arrival{}, Answer{Outcome: Refused}, 0)
	ended.ended(1, &Arrival{}, Answer{}, 0)
	for _, c := range []struct {
		elapsed     time.Duration
		open, ended int
	}{{0, 0, 0}, {999 * time.Millisecond, 0, 0}, {time.Second, 0, 1}, {1249 * time.Millisecond, 0, 1}, {1250 * time.Millisecond, 1, 1}, {2250 * time.Millisecond, 2, 2}, {time.Hour, 2, 2}} {
		if got := open.Settled(c.elapsed); got != c.open {
			t.Errorf("after %v, %d seconds with answers to come are settled, want %d", c.elapsed, got, c.open)
		}
		if got := ended.Settled(c.elapsed); got != c.ended {
			t.Errorf("after %v, %d seconds without are settled, want %d", c.elapsed, got, c.ended)
		}
	}
}

// Arrivals are counted in the second of their planned moment and in their
// class, and the seconds sum to the whole.
func TestCountsStandWhereTheArrivalWasPlanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, Config{Plan: steps(300), Do: instant})
		run(t, g)
		want := make([]Cells, len(g.Report().Seconds()))
		for a := range g.plan.Arrivals() {
			second := 0
			for a.At >= g.Report().Seconds()[second].To() {
				second++
			}
			want[second][a.Class.Index()].Offered++
		}
		for i := range want {
			got := g.Report().Between(i, i+1)
			for class := range got {
				if got[class].Offered != want[i][class].Offered || got[class].Good != want[i][class].Offered {
					t.Errorf("second %d, %v: offered %d, good %d, want %d", i, priority.FromIndex(class),
						got[class].Offered, got[class].Good, want[i][class].Offered)
				}
			}
		}
	})
}

func TestGoodShare(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want float64
	}{{Cell{}, 1}, {Cell{Offered: 4, Good: 1, Late: 3}, 0.25}} {
		if got := c.cell.GoodShare(); got != c.want {
			t.Errorf("share of %d of %d is %v", c.cell.Good, c.cell.Offered, got)
		}
	}
}
