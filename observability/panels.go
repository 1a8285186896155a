package observability

import "strings"

// q is a query. In it $on stands for what the dashboard's variables choose,
// and $rate for the window that fits the zoom.
func q(expr, legend string) Query {
	return Query{strings.NewReplacer("$on", `job=~"$job", instance=~"$instance"`, "$rate", "$__rate_interval").Replace(expr), legend}
}

func rising(yellow, red float64) []Step { return []Step{{0, Green}, {yellow, Yellow}, {red, Red}} }

// good is red below a bound, and green from it on.
func good(from float64) []Step { return []Step{{0, Red}, {from, Green}} }

var share = [2]*float64{new(0.0), new(1.0)}

// quantiles is a histogram's median and 99th percentile, by its classes. A
// server that takes native histograms has no buckets, and one that does not
// has nothing else: each branch is empty for the other.
func quantiles(metric string, by ...string) (list []Query) {
	legend := ""
	for _, label := range by {
		legend += " {{" + label + "}}"
	}
	for _, at := range [][2]string{{"0.5", "half"}, {"0.99", "99 %"}} {
		classic := "histogram_quantile(" + at[0] + ", sum by (" + strings.Join(append([]string{"le"}, by...), ", ") + ") (rate(" + metric + "_bucket{$on}[$rate])))"
		native := "histogram_quantile(" + at[0] + ", sum by (" + strings.Join(by, ", ") + ") (rate(" + metric + "{$on}[$rate])))"
		list = append(list, q(classic+" or "+native, at[1]+legend))
	}
	return list
}

// countRate is how many durations a second a histogram counts, of either kind.
// selector is what stands in its braces.
func countRate(metric, selector, window, by string) string {
	classic := "sum by (" + by + ") (rate(" + metric + "_count{" + selector + "}[" + window + "]))"
	native := "histogram_count(sum by (" + by + ") (rate(" + metric + "{" + selector + "}[" + window + "])))"
	return "(" + classic + " or " + native + ")"
}
