package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Pass and Left together say what Take says, of every debt and cost.
func TestPassIsTake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.Int64Range(1, 1000).Draw(t, "burst")
		g := newFlow(t, Per(rapid.Int64Range(1, 1000).Draw(t, "rate"), time.Second), burst).g
		whole := rapid.Int64Range(0, burst).Draw(t, "owed")
		d := min(g.Owing(whole)+Debt(rapid.IntRange(0, 2).Draw(t, "more")), g.Capacity())
		cost := rapid.OneOf(
			rapid.Just(burst-whole), rapid.Int64Range(-1, burst+1), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}),
		).Draw(t, "cost")
		want, r := g.Take(d, cost)
		got, ok := g.Pass(d, cost)
		if got != want || ok != r.OK {
			t.Fatalf("%d of a debt of %d: passes %v and leaves %d; taking it passes %v and leaves %d", cost, d, ok, got, r.OK, want)
		}
		if remaining, reset := g.Left(got); remaining != r.Remaining || reset != r.ResetAfter {
			t.Fatalf("left %d and %s, want %+v", remaining, reset, r)
		}
	})
}
