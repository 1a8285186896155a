package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

func TestEveryClaimHoldsOfASoundShedder(t *testing.T) {
	for _, multiple := range []float64{lowest, 3, 6} {
		virtually(t, Config{Multiple: multiple, Duration: shortest}, sound(), func(a *act) {
			if v := judge(a); !v.Held() || len(v.Claims) != 5 || v.Doubt != "" {
				t.Errorf("at %v times the capacity: %+v", multiple, v)
			}
		})
	}
}

// Each claim is seen to fail where what it claims is not so.
func TestEachClaimCanFail(t *testing.T) {
	noClasses := &shedder{caps: [priority.Count]int{20, 20, 20, 20}}
	timid := &shedder{caps: [priority.Count]int{5, 5, 5, 7}}
	open := &shedder{caps: [priority.Count]int{1e6, 1e6, 1e6, 1e6}}
	skittish := sound()
	skittish.refuse = func(a load.Arrival) bool { return a.Phase == before && a.Number%100 == 0 }
	resentful := sound()
	resentful.refuse = func(a load.Arrival) bool { return a.At > 7200*time.Millisecond && a.Class == priority.Low }
	slow := sound()
	slow.refuse = func(a load.Arrival) bool { return a.Phase == after && a.At < 14900*time.Millisecond && a.Pick%10 == 0 }
	forgetful := sound()
	forgetful.refuse = func(a load.Arrival) bool { return a.Class == priority.Critical && a.Pick%40 == 0 }
	momentary := sound()
	momentary.refuse = func(a load.Arrival) bool {
		return a.Class == priority.Critical && a.At > 5*time.Second && a.At < 5100*time.Millisecond
	}
	for name, c := range map[string]struct {
		shedder  *shedder
		duration time.Duration
		fails    string
	}{
		"no classes":                {noClasses, shortest, "critical in time"},
		"a few all the time":        {forgetful, shortest, "critical in time"},
		"one bad moment":            {momentary, DefaultDuration, "critical in time"},
		"too few in flight":         {timid, shortest, "useful answers"},
		"nothing refused":           {open, shortest, "late answers"},
		"refuses what it could do":  {skittish, shortest, "refused at 0.6×, before"},
		"does not come back":        {resentful, shortest, "all classes back to 99%"},
		"takes its time to do that": {slow, DefaultDuration, "all classes back to 99%"},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, Config{Duration: c.duration}, c.shedder, func(a *act) {
				v := judge(a)
				if v.Held() {
					t.Error("the verdict is that all held")
				}
				for _, claim := range v.Claims {
					if claim.What == c.fails && claim.Held {
						t.Errorf("%q is said to hold: %s", claim.What, claim.Seen)
					}
				}
			})
		})
	}
}

// Critical traffic that is above the capacity itself cannot all be answered:
// what the capacity allows is claimed, and not less.
func TestCriticalAboveTheCapacityIsHeldToTheCapacity(t *testing.T) {
	virtually(t, Config{Multiple: 8, Duration: shortest}, sound(), func(a *act) {
		critical := judge(a).Claims[0]
		if !critical.Held || !strings.HasPrefix(critical.Claimed, "≥ 57") {
			t.Errorf("%+v", critical)
		}
	})
	half := sound()
	half.refuse = func(a load.Arrival) bool { return a.Class == priority.Critical && a.Pick%2 == 0 }
	virtually(t, Config{Multiple: 8, Duration: shortest}, half, func(a *act) {
		if critical := judge(a).Claims[0]; critical.Held {
			t.Errorf("%+v", critical)
		}
	})
}

func TestAVerdictWithoutClaimsHoldsNothing(t *testing.T) {
	if (&Verdict{}).Held() {
		t.Error("nothing was claimed, and all of it held")
	}
}

// Conservation: every arrival is in exactly one place at the end.
func TestEveryArrivalIsAccountedFor(t *testing.T) {
	virtually(t, Config{Duration: shortest}, sound(), func(a *act) {
		planned := 0
		for range a.plan.Arrivals() {
			planned++
		}
		all := a.of(0, len(a.report.Seconds())).all
		if all.Offered != planned || all.Settled() != planned {
			t.Errorf("planned %d, offered %d, settled %d", planned, all.Offered, all.Settled())
		}
	})
}

// What did not happen is not shown, when somebody breaks the run off.
func TestARunThatIsBrokenOffShowsNoFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Config{Out: t.Output(), Duration: shortest}.prepared()
		if err != nil {
			t.Fatal(err)
		}
		a, err := newAct("with Plimsoll", c.plan(100, c.Duration), scripted)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2500*time.Millisecond, cancel)
		if err := a.run(ctx, time.Second, func() {}); !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		if n := a.judged(); n != 2 {
			t.Errorf("%d seconds are judged", n)
		}
	})
}
