package telemetry

// Use is where a metric is used: the panels of dashboards, each as
// dashboard/panel, and the alerts and recording rules by name. Empty: nowhere.
type Use struct {
	Panels []string
	Alerts []string
}

// uses is the table of them, by metric. Who ships dashboards and rules keeps
// it; docs/metrics.md shows it.
var uses = map[Metric]Use{}

// UseOf is where a metric is used. Do not change it.
func UseOf(m Metric) Use { return uses[m] }
