package demo

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// seen is a demonstration in which everything that is claimed was seen.
func seen() *fleetShow {
	s := &fleetShow{config: FleetConfig{Plain: true, Out: &bytes.Buffer{}}, admitted: sharedLimit}
	for _, scene := range scenes {
		s.spells = append(s.spells, &spell{
			scene: scene, admitted: 700, refused: 350, lasted: phaseLength, knownIn: time.Second, took: []time.Duration{time.Millisecond}, state: "ok",
		})
	}
	return s
}

// Each thing that is claimed is not held when it was not seen.
func TestTheFleetsVerdict(t *testing.T) {
	if v := seen().judge(); !v.Held() || v.Doubt != "" {
		t.Errorf("everything was seen: %+v", v)
	}
	for what, spoil := range map[string]func(*fleetShow){
		"one limit for all workers": func(s *fleetShow) { s.admitted++ },
		"requests that failed":      func(s *fleetShow) { s.spells[3].failed++ },
		"Redis stopped: known":      func(s *fleetShow) { s.spells[1].knownIn = 0 },
		"Redis frozen: known":       func(s *fleetShow) { s.spells[3].knownIn = noticed + 1 },
		"thawed: known":             func(s *fleetShow) { s.spells[4].knownIn = normal + 1 },
		"p50 without Redis":         func(s *fleetShow) { s.spells[3].took[0] = time.Second },
		"the limit, in each phase":  func(s *fleetShow) { s.spells[2].admitted = 1000 },
	} {
		s := seen()
		spoil(s)
		v := s.judge()
		for _, c := range v.Claims {
			if c.Held == (c.What == what) {
				t.Errorf("with %s spoilt, %s is held: %v", what, c.What, c.Held)
			}
		}
		s.verdict(v)
		if text := s.config.Out.(*bytes.Buffer).String(); !strings.Contains(text, "FAIL "+what) {
			t.Errorf("the verdict does not say that %q failed:\n%s", what, text)
		}
	}
	s := seen()
	s.spells[0].fallbacks = 3
	if v := s.judge(); !strings.HasSuffix(v.Doubt, "Redis: 3.") {
		t.Errorf("a busy machine is not said to be one: %+v", v)
	}
}

func TestAFleetNeedsARedis(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := RunFleet(t.Context(), FleetConfig{Out: &bytes.Buffer{}}); !errors.Is(err, ErrNoRedis) {
		t.Errorf("got %v", err)
	}
}
