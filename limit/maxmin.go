package limit

import (
	"cmp"
	"math"
	"slices"
)

// MaxMin shares a budget among demands so that the smallest share is as large
// as it can be: nobody gets more than it demands while another gets less than
// that, and what is left when all demands are met is split evenly, so that
// everybody has room to start. The shares sum to the budget, to rounding.
//
// Raising a demand never lowers its share, and raising the budget lowers no
// share. A demand below 0 or not a number counts as 0, one of +Inf as more than
// there is; a budget not above 0 shares nothing. It costs one sort.
func MaxMin(budget float64, demands []float64) []float64 {
	shares := make([]float64, len(demands))
	if !(budget > 0) || len(demands) == 0 {
		return shares
	}
	order := make([]int, len(demands))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(demand(demands[a]), demand(demands[b])) })
	left := budget
	for met, i := range order {
		even := left / float64(len(order)-met)
		shares[i] = min(demand(demands[i]), even)
		left = max(0, left-shares[i])
	}
	surplus := left / float64(len(order))
	for i := range shares {
		shares[i] += surplus
	}
	return shares
}

func demand(d float64) float64 {
	if math.IsNaN(d) {
		return 0
	}
	return max(d, 0)
}
