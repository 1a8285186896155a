package observe

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/observability"
)

// Reading is what a query of a panel found.
type Reading struct {
	Query  observability.Query
	Series []Series
}

// window is what Grafana would choose for the rate at a scrape a second.
const window = "5s"

// filled is an expression in which Grafana's variables have their values.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", window, "$job", ".*", "$instance", ".*").Replace(expr)
}

// Read runs the queries of a panel over a stretch of time.
func (p *Prometheus) Read(ctx context.Context, panel *observability.Panel, from, to time.Time) (list []Reading, err error) {
	for _, query := range panel.Queries {
		series, err := p.Range(ctx, filled(query.Expr), from, to)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(series, func(a, b Series) int {
			return strings.Compare(legend(query.Legend, a.Labels), legend(query.Legend, b.Labels))
		})
		list = append(list, Reading{query, series})
	}
	return list, nil
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// legend is the name of a series: its pattern with the values of labels.
func legend(pattern string, labels map[string]string) string {
	return placeholder.ReplaceAllStringFunc(pattern, func(word string) string { return labels[word[2:len(word)-2]] })
}

// Moves reports whether any value is not 0.
func (r *Reading) Moves() bool {
	return slices.ContainsFunc(r.Series, func(s Series) bool {
		return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Value != 0 })
	})
}
