package sim

import (
	"slices"
	"testing"
)

// underRace are the scenarios that are played under the race detector, which
// makes them ten times as long; the others are played without it.
var underRace = []string{"lossy", "paused"}

// Every scenario that comes along keeps all invariants and all that it expects.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		if race && !slices.Contains(underRace, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Named(name)
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, s, 1)
		})
	}
}

func mustHold(t *testing.T, s *Scenario, seed uint64) *Report {
	t.Helper()
	r, err := Play(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Held() {
		t.Errorf("\n%s", r.Table())
	}
	return r
}
