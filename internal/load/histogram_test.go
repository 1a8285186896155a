package load

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQuantilesAreAtMostThreePercentAboveTheTrueOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.SliceOfN(rapid.Int64Range(0, int64(longest)), 1, 200).Draw(t, "micros")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		var h Histogram
		for _, us := range micros {
			h.Add(time.Duration(us) * time.Microsecond)
		}
		slices.Sort(micros)
		rank := len(micros)
		for i := range micros {
			if float64(i+1) >= q*float64(len(micros)) {
				rank = i + 1
				break
			}
		}
		want := time.Duration(micros[rank-1]) * time.Microsecond
		if got := h.Quantile(q); got < want || got > want+want/32 {
			t.Fatalf("quantile %v of %v is %v, want %v to 3%% above", q, micros, got, want)
		}
	})
}

func TestHistogramsMerge(t *testing.T) {
	var one, two Histogram
	one.Add(time.Millisecond)
	two.Add(time.Second)
	two.Add(time.Second)
	one.Merge(&two)
	if one.Count() != 3 || one.Quantile(0.3) > 2*time.Millisecond || one.Quantile(1) < time.Second {
		t.Errorf("merged: %d durations, %v to %v", one.Count(), one.Quantile(0.3), one.Quantile(1))
	}
}

func TestHistogramAtItsEdges(t *testing.T) {
	var h Histogram
	if got := h.Quantile(0.99); got != 0 {
		t.Errorf("an empty histogram answers %v", got)
	}
	h.Add(-time.Second)
	h.Add(24 * time.Hour)
	if got := h.Quantile(0); got != 0 {
		t.Errorf("a negative duration counts as %v", got)
	}
	if got := h.Quantile(1); got < time.Hour || got > time.Hour+2*time.Minute {
		t.Errorf("a day counts as %v, want about an hour", got)
	}
}
