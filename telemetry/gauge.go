package telemetry

import (
	"errors"
	"fmt"
)

// Gauge is a figure that somebody else knows.
type Gauge struct {
	// Metric is which one: a gauge of Definitions that is given.
	Metric Metric
	// Read tells its values now, at each scrape, concurrently. It must not
	// block. One that panics tells nothing. Of points with the same labels the
	// first counts, points with another number of labels than the definition's
	// count not, nor do those after the 256th.
	Read func() []Point
}

// Point is one value of a metric.
type Point struct {
	Labels []string // values, in the order of the definition; a closed set
	Value  float64
}

const mostPoints = 256

func (g *Gauge) check(taken bool) error {
	d := find(g.Metric)
	switch {
	case d == nil || d.Type != GaugeType || d.read != nil:
		return fmt.Errorf("%q is no gauge that is given", string(g.Metric))
	case taken:
		return fmt.Errorf("%s is given twice", g.Metric)
	case g.Read == nil:
		return errors.New(string(g.Metric) + " needs a Read")
	}
	return nil
}

// given is the points of a gauge that others know.
func (t *Telemetry) given(m Metric) []Point {
	for i := range t.config.Gauges {
		if g := &t.config.Gauges[i]; g.Metric == m {
			points := contained(g.Read)
			return points[:min(len(points), mostPoints)]
		}
	}
	return nil
}

// contained keeps a panic away from the scrape, which runs in a goroutine
// where it would end the process.
func contained(read func() []Point) (points []Point) {
	defer func() {
		if recover() != nil {
			points = nil
		}
	}()
	return read()
}

// sound is the points that an exporter takes without an error: labels in
// UTF-8, in the right number, each set once.
func sound(d *Definition, points []Point) []Point {
	seen := map[string]bool{}
	list := make([]Point, 0, len(points))
	for _, p := range points {
		if len(p.Labels) != len(d.Labels) {
			continue
		}
		labels := make([]string, len(p.Labels))
		for i, value := range p.Labels {
			labels[i] = label(value)
		}
		key := fmt.Sprintf("%q", labels)
		if !seen[key] {
			seen[key] = true
			list = append(list, Point{labels, p.Value})
		}
	}
	return list
}
