package sim

import (
	"testing"
)

// Every scenario that comes along keeps all invariants and all that it expects.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
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
