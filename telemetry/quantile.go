package telemetry

// Quantiles is, for each series of a histogram that has counted something, the
// duration in seconds that a share of all since the start did not exceed, 0 … 1,
// by the finer of the two kinds of buckets: at most 19 % too long. None for
// what is no histogram.
func (t *Telemetry) Quantiles(m Metric, share float64) (points []Point) {
	d := find(m)
	if d == nil || d.Type != HistogramType {
		return nil
	}
	for _, read := range d.timed(t) {
		if read.timed() > 0 {
			points = append(points, Point{read.labels, read.quantile(d.ladder, share)})
		}
	}
	return points
}

func (r *reading) quantile(l *ladder, share float64) float64 {
	rank := max(uint64(share*float64(r.timed())+0.5), 1)
	below := uint64(0)
	for i, n := range r.slots[:bounds] {
		if below += n; below >= rank {
			return float64(l.bounds[i]) / 1e9
		}
	}
	return float64(l.bounds[bounds-1]) / 1e9
}
