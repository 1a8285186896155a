package telemetry

import (
	"slices"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// timed is a histogram as it was read.
type timed struct {
	labels []string
	reading
	examples *exemplars
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
	if d.read != nil {
		return sound(d, d.read(t))
	}
	points := sound(d, t.given(d.Name))
	if d.Type == CounterType {
		t.grown.only(d.Name, points)
	}
	return points
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
			list = append(list, timed{
				[]string{class.String(), o.String()}, t.decided(class.Index(), o), &t.examples.decisions[class.Index()][o],
			})
		}
	}
	return list
}

func timeRequests(t *Telemetry) (list []timed) {
	for _, class := range priority.All {
		for end := range ends {
			list = append(list, timed{
				[]string{class.String(), endNames[end]}, t.ended(class.Index(), end), &t.examples.requests[class.Index()][end],
			})
		}
	}
	return list
}

// timeStore tells the waits that occurred: a store in this process has none.
func timeStore(t *Telemetry) (list []timed) {
	for i := range t.waits.store {
		for a := range answers {
			list = appendTimed(list, i, a.String(), &t.waits.store[i][a], &t.examples.store[i][a])
		}
	}
	return list
}

func timeDelay(t *Telemetry) (list []timed) {
	for i := range t.waits.delay {
		for o := range outcomes {
			list = appendTimed(list, i, o.String(), &t.waits.delay[i][o], &t.examples.delay[i][o])
		}
	}
	return list
}

func timeQueue(t *Telemetry) (list []timed) {
	for i := range t.waits.queue {
		for o := range outcomes {
			list = appendTimed(list, i, o.String(), &t.waits.queue[i][o], &t.examples.queue[i][o])
		}
	}
	return list
}

// appendTimed reads a histogram that has counted something.
func appendTimed(list []timed, class int, second string, h *histogram, examples *exemplars) []timed {
	var read reading
	if read.add(h); read.total() == 0 {
		return list
	}
	return append(list, timed{[]string{priority.FromIndex(class).String(), second}, read, examples})
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

// readFallbacks sums those of entries with one name, like readFaults.
func readFallbacks(t *Telemetry) (points []Point) {
	at := map[string]int{} // where the points of a name begin
	for _, e := range t.entries.list() {
		from, known := at[e.name]
		if !known {
			from = len(points)
			at[e.name] = from
			for policy := range e.fallbacks {
				points = append(points, Point{Labels: []string{e.name, pipeline.FaultPolicy(policy).String()}})
			}
		}
		for policy := range e.fallbacks {
			points[from+policy].Value += float64(e.fallbacks[policy].Load())
		}
	}
	return slices.DeleteFunc(points, func(p Point) bool { return p.Value == 0 })
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

func readSuppressed(t *Telemetry) []Point {
	if t.config.Refusals == nil {
		return nil
	}
	return []Point{{Value: float64(t.config.Refusals.Suppressed())}}
}
