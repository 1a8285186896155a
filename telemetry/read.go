package telemetry

import (
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// timed is a histogram as it was read.
type timed struct {
	labels []string
	reading
}

// Points is the values of a counter or gauge now; none of a histogram and of
// what is not defined. Points with the value 0 are left out for refusals and
// for the faults of entries.
func (t *Telemetry) Points(m Metric) []Point {
	d := find(m)
	if d == nil || d.Type == HistogramType {
		return nil
	}
	return t.points(d)
}

// points is a metric's values now, fit for any exporter.
func (t *Telemetry) points(d *Definition) []Point {
	if d.read == nil {
		return sound(d, t.given(d.Name))
	}
	return sound(d, d.read(t))
}

func readRequests(t *Telemetry) []Point { return totals(timeDecisions(t)) }

func readReleased(t *Telemetry) []Point { return totals(timeRequests(t)) }

// totals counts what histograms counted, with what had no time.
func totals(list []timed) []Point {
	points := make([]Point, len(list))
	for i := range list {
		points[i] = Point{list[i].labels, float64(list[i].total())}
	}
	return points
}

func timeDecisions(t *Telemetry) (list []timed) {
	for _, class := range priority.All {
		for o := range outcomes {
			list = append(list, timed{[]string{class.String(), o.String()}, t.decided(class.Index(), o)})
		}
	}
	return list
}

func timeRequests(t *Telemetry) (list []timed) {
	for _, class := range priority.All {
		for end := range ends {
			list = append(list, timed{[]string{class.String(), endNames[end]}, t.ended(class.Index(), end)})
		}
	}
	return list
}

// readRefusals tells those that occurred: most entries have one reason, and a
// series for each that cannot occur would be most of a scrape.
func readRefusals(t *Telemetry) (points []Point) {
	for _, e := range t.entries.list() {
		e.eachRefusal(func(mode pipeline.Mode, class priority.Class, reason pipeline.Reason, n uint64) {
			labels := []string{e.name, e.kind, reason.String(), class.String(), mode.String()}
			points = append(points, Point{labels, float64(n)})
		})
	}
	return points
}

// readFaults sums the faults of entries with one name: the kind of stage is no
// label of theirs.
func readFaults(t *Telemetry) (points []Point) {
	sums := map[string]*[faultKinds]uint64{"": {}}
	add := func(name string, kind pipeline.FaultKind, n uint64) {
		if sums[name] == nil {
			sums[name] = new([faultKinds]uint64)
		}
		sums[name][kind] += n
	}
	for kind := range faultKinds {
		add("", kind, t.entries.outside[kind].Load())
		for _, e := range t.entries.list() {
			add(e.name, kind, e.faults[kind].Load())
		}
	}
	for name, counts := range sums {
		for kind := range faultKinds {
			if name == "" || counts[kind] > 0 {
				points = append(points, Point{[]string{name, kind.String()}, float64(counts[kind])})
			}
		}
	}
	return points
}

func readInFlight(t *Telemetry) []Point {
	p := t.followed.Load()
	if p == nil {
		return nil
	}
	return []Point{{Value: float64(p.InFlight())}}
}

func readModes(t *Telemetry) (points []Point) {
	p := t.followed.Load()
	if p == nil {
		return nil
	}
	plan := p.Plan()
	for i := range plan.Len() {
		e := plan.Entry(i)
		points = append(points, Point{[]string{e.Name, e.Kind, e.Mode.String()}, 1})
	}
	return points
}
