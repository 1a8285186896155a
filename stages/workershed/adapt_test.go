package workershed

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLimitTellsTheStories(t *testing.T) {
	for name, story := range scenarios(t, "limit") {
		t.Run(name, func(t *testing.T) {
			maximum, floor := int(story[0].number(t, "max")), int(story[0].number(t, "floor"))
			l := limiter{}
			for _, s := range story[1:] {
				p := pressure{
					delay: s.duration(t, "delay"), busy: s.number(t, "busy"),
					ended: int64(s.number(t, "ended")), dropped: int64(s.number(t, "dropped")),
				}
				for range s.lasts / (100 * time.Millisecond) {
					l, _ = l.next(p, floor, maximum)
				}
				if got, want := l.limit(maximum), int(s.number(t, "limit")); got != want {
					t.Errorf("%s: the limit is %d, want %d", s.at, got, want)
				}
			}
		})
	}
}

func TestLimitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maximum := rapid.IntRange(1, 500).Draw(t, "max")
		floor := min(rapid.IntRange(1, 16).Draw(t, "floor"), maximum)
		l := limiter{}
		for range rapid.IntRange(1, 60).Draw(t, "windows") {
			ended := rapid.Int64Range(0, 1000).Draw(t, "ended")
			p := pressure{
				delay:   time.Duration(rapid.Int64Range(0, int64(50*time.Millisecond)).Draw(t, "delay")),
				busy:    rapid.Float64Range(0, 600).Draw(t, "busy"),
				ended:   ended,
				dropped: rapid.Int64Range(0, ended).Draw(t, "dropped"),
			}
			before := l.limit(maximum)
			next, signal := l.next(p, floor, maximum)
			got := next.limit(maximum)
			if got > maximum || got < min(floor, before) {
				t.Fatalf("limit %d is outside %d … %d", got, floor, maximum)
			}
			if got != before && signal == NoSignal {
				t.Fatalf("the limit moved from %d to %d for no reason", before, got)
			}
			if p.delay > slowRunQueue && got > before {
				t.Fatalf("the limit rose from %d to %d at a delay of %v", before, got, p.delay)
			}
			if got < before && p.busy <= float64(before)/2 {
				t.Fatalf("the limit fell from %d to %d while %v were in flight", before, got, p.busy)
			}
			l = next
		}
	})
}

// A maximum that is raised holds at once where nothing had lowered the limit,
// and does not undo what was learnt where something had.
func TestLimitUnderAnotherMaximum(t *testing.T) {
	if got := (limiter{}).limit(400); got != 400 {
		t.Errorf("not reduced, a maximum of 400 gives %d", got)
	}
	l, _ := limiter{}.next(pressure{delay: time.Second, busy: 90}, 4, 100)
	if l.limit(100) != 85 || l.limit(400) != 85 || l.limit(50) != 50 {
		t.Errorf("reduced to 85, maxima of 100, 400 and 50 give %d, %d and %d", l.limit(100), l.limit(400), l.limit(50))
	}
	for range 15 {
		l, _ = l.next(pressure{busy: 90}, 4, 100)
	}
	if l.limit(100) != 100 || l.limit(400) != 400 {
		t.Errorf("recovered, maxima of 100 and 400 give %d and %d", l.limit(100), l.limit(400))
	}
}
