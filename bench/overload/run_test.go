package overload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// The same load, in virtual time, behind nothing, behind a cap that knows no
// classes, and behind ours: the order holds on any machine.
func TestTheStepInVirtualTime(t *testing.T) {
	critical := map[string]float64{}
	for _, name := range []string{"nothing", "fixed cap", "plimsoll"} {
		synctest.Test(t, func(t *testing.T) {
			r := Run{Contestant: name, Experiment: "E1-3x", Seed: 1}
			for _, c := range Contestants() {
				if c.Name == name {
					r.Setting = c.Settings[0].Name
				}
			}
			result, err := r.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			critical[name] = result.Good[priority.Critical.Index()]
			if result.Capacity != 2000 || len(result.Seconds) != 20 || result.Attempts != 1 {
				t.Errorf("%s: capacity %v, %d seconds, %v attempts", name, result.Capacity, len(result.Seconds), result.Attempts)
			}
			for _, s := range result.Seconds {
				if s.Good+s.Late+s.Refuse > 1.0001*s.Offered {
					t.Errorf("%s: more came back than was sent: %+v", name, s)
				}
			}
		})
	}
	if critical["nothing"] > 0.2 || critical["fixed cap"] > 0.5 || critical["plimsoll"] < 0.9 {
		t.Errorf("critical calls answered in time: %v", critical)
	}
}

func TestEverySettingServes(t *testing.T) {
	for _, c := range Contestants() {
		for _, s := range c.Settings {
			t.Run(c.Name+"/"+s.Name, func(t *testing.T) {
				shedder, err := s.Make(NewIO())
				if err != nil {
					t.Fatal(err)
				}
				defer shedder.Close()
				ran := false
				work := func(context.Context) error { ran = true; return nil }
				for class := range priority.Count {
					ran = false
					if !shedder.Serve(t.Context(), Call{Class: priority.FromIndex(class), Due: time.Now().Add(patience)}, work) || !ran {
						t.Errorf("a call of class %v alone was refused", priority.FromIndex(class))
					}
				}
			})
		}
	}
}

func TestEveryRunIsFound(t *testing.T) {
	for _, r := range []Run{
		{"nobody", "x", "E1-3x", 1}, {"plimsoll", "x", "E1-3x", 1}, {"nothing", "none", "E9", 1},
	} {
		if _, err := r.Do(t.Context()); err == nil {
			t.Errorf("%+v ran", r)
		}
	}
}
