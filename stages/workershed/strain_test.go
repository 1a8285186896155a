package workershed

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestStrainTellsTheStories(t *testing.T) {
	for name, story := range scenarios(t, "strain") {
		t.Run(name, func(t *testing.T) {
			now := strain{}
			for _, s := range story {
				seen := backlog{delay: s.duration(t, "delay"), runnable: int(s.number(t, "ready"))}
				for range s.lasts / (20 * time.Millisecond) * time.Duration(s.number(t, "glances")) {
					now = now.glanced(seen, 2)
				}
				for range s.lasts / (100 * time.Millisecond) * time.Duration(1-s.number(t, "glances")) {
					now = now.next(seen, 2, s.number(t, "limited") > 0)
				}
				if want := s.number(t, "strain"); math.Abs(now.value-want) > 0.006 {
					t.Errorf("%s: the strain is %.4f, want %.4f", s.at, now.value, want)
				}
			}
		})
	}
}

func TestStrainProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := strain{rapid.Float64Range(0, maxLevel).Draw(t, "from"), rapid.IntRange(0, 100).Draw(t, "calm")}
		seen := backlog{
			delay:    time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "delay")),
			runnable: rapid.IntRange(0, 1000).Draw(t, "ready"),
		}
		processors := rapid.IntRange(1, 64).Draw(t, "processors")
		after := before.next(seen, processors, rapid.Bool().Draw(t, "limited"))
		if rapid.Bool().Draw(t, "glance") {
			after = before.glanced(seen, processors)
		}
		from, to := before.value, after.value
		switch {
		case !(to >= 0 && to <= maxLevel):
			t.Fatalf("strain %v is outside 0 … %d", to, maxLevel)
		case to > from && seen.delay <= slowRunQueue, to < from && seen.delay >= calmRunQueue:
			t.Fatalf("at a delay of %v it went from %v to %v", seen.delay, from, to)
		case to > from+mostStrainStep:
			t.Fatalf("it went from %v to %v in one step", from, to)
		}
	})
}
