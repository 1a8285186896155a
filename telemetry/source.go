package telemetry

import (
	"errors"
	"fmt"
	"sync"
)

// Source knows the figures of one metric that somebody else counts.
type Source struct {
	// Metric is which one: one of Definitions that is given.
	Metric Metric
	// Read tells its values now, at each scrape, concurrently. It must not
	// block. One that panics tells nothing. Of points with the same labels the
	// first counts, points with another number of labels than the definition's
	// count not, nor do those after the 256th. A counter that has fallen, such
	// as that of a stage which was taken out and came back, goes on from where
	// it was.
	Read func() []Point
}

// Point is one value of a metric.
type Point struct {
	Labels []string // values, in the order of the definition; a closed set
	Value  float64
}

const mostPoints = 256

func (s *Source) check(taken bool) error {
	d := find(s.Metric)
	switch {
	case d == nil || !d.Given():
		return fmt.Errorf("%q is no metric that is given", string(s.Metric))
	case taken:
		return fmt.Errorf("%s is given twice", s.Metric)
	case s.Read == nil:
		return errors.New(string(s.Metric) + " needs a Read")
	}
	return nil
}

// given is the points of a metric that others know.
func (t *Telemetry) given(m Metric) []Point {
	for i := range t.config.Sources {
		if s := &t.config.Sources[i]; s.Metric == m {
			points := contained(s.Read)
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
		key := keyOf(labels)
		if !seen[key] {
			seen[key] = true
			list = append(list, Point{labels, p.Value})
		}
	}
	return list
}

// keyOf is a set of labels as one text.
func keyOf(labels []string) string { return fmt.Sprintf("%q", labels) }

// grown keeps counters that others know from ever falling.
type grown struct {
	mu    sync.Mutex
	until map[Metric]map[string]*growth // by series
}

// growth is how far a counter has come: what it told last, and what is to be
// added because it has begun anew.
type growth struct{ last, add float64 }

// only raises the points of a counter that have fallen. Of series that come and
// go it remembers the first few thousand.
func (g *grown) only(m Metric, points []Point) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until == nil {
		g.until = map[Metric]map[string]*growth{}
	}
	if g.until[m] == nil {
		g.until[m] = map[string]*growth{}
	}
	for i := range points {
		p := &points[i]
		key := keyOf(p.Labels)
		known := g.until[m][key]
		if known == nil {
			known = &growth{}
			if len(g.until[m]) < 16*mostPoints {
				g.until[m][key] = known
			}
		}
		if p.Value < known.last {
			known.add += known.last
		}
		known.last = p.Value
		p.Value += known.add
	}
}
