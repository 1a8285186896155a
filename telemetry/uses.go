package telemetry

// Use is where a metric is used: the panels of dashboards, each as
// dashboard/panel, and the alerts and recording rules by name. Empty: nowhere.
type Use struct {
	Panels []string
	Alerts []string
}

// UseOf is where a metric is used, by the dashboards and rules of package
// observability, which writes the table. Do not change it.
func UseOf(m Metric) Use { return uses[m] }
