package limit

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMaxMin(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name    string
		budget  float64
		demands []float64
		want    []float64
	}{
		{"nobody", 10, nil, []float64{}},
		{"alone gets all", 10, []float64{2}, []float64{10}},
		{"alone and idle gets all", 10, []float64{0}, []float64{10}},
		{"surplus is split evenly", 10, []float64{1, 3}, []float64{4, 6}},
		{"small demands are met first", 10, []float64{8, 2, 8}, []float64{4, 2, 4}},
		{"too much for all", 9, []float64{20, 30, 40}, []float64{3, 3, 3}},
		{"no budget", 0, []float64{1, 2}, []float64{0, 0}},
		{"less than no budget", -5, []float64{1, 2}, []float64{0, 0}},
		{"not a number demands nothing", 4, []float64{math.NaN(), 9}, []float64{0, 4}},
		{"negative demands nothing", 4, []float64{-7, 9}, []float64{0, 4}},
		{"without end", 9, []float64{inf, 1, inf}, []float64{4, 1, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := MaxMin(c.budget, c.demands); !slices.Equal(got, c.want) {
				t.Errorf("MaxMin(%v, %v) = %v, want %v", c.budget, c.demands, got, c.want)
			}
		})
	}
}

func drawDemands(t *rapid.T) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 20).Draw(t, "demands")
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

func total(shares []float64) (sum float64) {
	for _, s := range shares {
		sum += s
	}
	return sum
}

func TestMaxMinProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands, budget := drawDemands(t), rapid.Float64Range(0, 5000).Draw(t, "budget")
		shares := MaxMin(budget, demands)
		if !near(total(shares), budget) {
			t.Fatalf("shares %v sum to %v, want %v", shares, total(shares), budget)
		}
		for i, share := range shares {
			for j, other := range shares {
				// More than demanded, or more than another who is short, only from a surplus.
				short := other < demands[j] && !near(other, demands[j])
				if short && share > demands[i] && !near(share, demands[i]) {
					t.Fatalf("%d has %v of %v while %d has %v of %v", i, share, demands[i], j, other, demands[j])
				}
				if short && share > other && !near(share, other) {
					t.Fatalf("%d has %v, more than %d, which is short with %v of %v", i, share, j, other, demands[j])
				}
				if demands[i] >= demands[j] && share < other && !near(share, other) {
					t.Fatalf("%d demands no less than %d and got less: %v < %v", i, j, share, other)
				}
			}
		}
	})
}

func TestMaxMinIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands, budget := drawDemands(t), rapid.Float64Range(0, 5000).Draw(t, "budget")
		more := rapid.Float64Range(0, 1000).Draw(t, "more")
		before := MaxMin(budget, demands)
		for i, share := range MaxMin(budget+more, demands) {
			if share < before[i] && !near(share, before[i]) {
				t.Fatalf("a larger budget lowered share %d from %v to %v", i, before[i], share)
			}
		}
		i := rapid.IntRange(0, len(demands)-1).Draw(t, "who")
		demands[i] += more
		if after := MaxMin(budget, demands); after[i] < before[i] && !near(after[i], before[i]) {
			t.Fatalf("a larger demand lowered its share from %v to %v", before[i], after[i])
		}
	})
}
