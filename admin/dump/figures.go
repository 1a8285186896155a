package dump

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/telemetry"
)

// sums adds up values by name.
type sums map[string]float64

// sumOf adds up the points of a metric by one of their labels.
func sumOf(t *telemetry.Telemetry, m telemetry.Metric, label int) sums {
	s := sums{}
	for _, p := range t.Points(m) {
		s[p.Labels[label]] += p.Value
	}
	return s
}

// byPair is points by their first two labels.
func byPair(points []telemetry.Point) map[string]sums {
	list := map[string]sums{}
	for _, p := range points {
		if list[p.Labels[0]] == nil {
			list[p.Labels[0]] = sums{}
		}
		list[p.Labels[0]][p.Labels[1]] += p.Value
	}
	return list
}

// quantile is the median and the 99th percentile by class.
type quantile map[string][2]float64

func quantiles(t *telemetry.Telemetry, m telemetry.Metric, outcome string) quantile {
	list := quantile{}
	for i, share := range []float64{0.5, 0.99} {
		for _, p := range t.Quantiles(m, share) {
			if p.Labels[1] == outcome {
				pair := list[p.Labels[0]]
				pair[i] = p.Value
				list[p.Labels[0]] = pair
			}
		}
	}
	return list
}

func (q quantile) of(class string, i int) string {
	pair, known := q[class]
	if !known {
		return "-"
	}
	return duration(pair[i])
}

// figured is several metrics side by side: a row for each set of their first
// labels.
type figured struct {
	order []string
	keys  map[string][]string
	cells map[string][]float64
	width int
}

// figures puts metrics side by side, by their first labels up to the last one
// given; what a metric tells apart beyond those is added up.
func figures(t *telemetry.Telemetry, last int, metrics ...telemetry.Metric) *figured {
	f := &figured{keys: map[string][]string{}, cells: map[string][]float64{}, width: len(metrics)}
	for i, m := range metrics {
		points := t.Points(m)
		for _, p := range points {
			f.add(i, p.Labels[:min(last+1, len(p.Labels))], p.Value)
		}
	}
	slices.SortStableFunc(f.order, func(a, b string) int { return cmp.Compare(f.keys[a][0], f.keys[b][0]) }) // classes stay in their order
	return f
}

func (f *figured) add(column int, labels []string, value float64) {
	key := strings.Join(labels, "\x00")
	if f.keys[key] == nil {
		f.order = append(f.order, key)
		f.keys[key], f.cells[key] = labels, make([]float64, f.width)
	}
	f.cells[key][column] += value
}

// rows adds a row for each set of labels, in the order in which they were told.
func (f *figured) rows(t *table) {
	for _, key := range f.order {
		row := slices.Clone(f.keys[key])
		for _, v := range f.cells[key] {
			row = append(row, number(v))
		}
		t.add(row...)
	}
}

// all shows every point of some metrics, one a row.
func all(c *Config, w io.Writer, metrics ...telemetry.Metric) {
	t := table{head: []string{"FIGURE", "OF", "VALUE"}}
	for _, m := range metrics {
		for _, p := range c.Telemetry.Points(m) {
			t.add(strings.TrimPrefix(string(m), "plimsoll."), strings.Join(p.Labels, ","), number(p.Value))
		}
	}
	t.write(w)
}
