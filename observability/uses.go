package observability

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/telemetry"
)

var metricName = regexp.MustCompile(`\bplimsoll_[a-z_]+`)

// metricsIn is the metrics that an expression reads, and the names in it that
// are none.
func metricsIn(expr string) (list []telemetry.Metric, unknown []string) {
	for _, name := range metricName.FindAllString(expr, -1) {
		m, ok := byName[name]
		switch {
		case !ok:
			unknown = append(unknown, name)
		case !slices.Contains(list, m):
			list = append(list, m)
		}
	}
	return list, unknown
}

// byName is the metrics by each name that they have in Prometheus.
var byName = func() map[string]telemetry.Metric {
	names := map[string]telemetry.Metric{}
	for _, d := range telemetry.Definitions() {
		names[d.Prometheus()] = d.Name
		if d.Type == telemetry.HistogramType {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				names[d.Prometheus()+suffix] = d.Name
			}
		}
	}
	return names
}()

// Uses is where each metric is used, by the dashboards and rules that there
// are. An alert on a recorded series uses the metrics that are recorded.
func Uses() map[telemetry.Metric]telemetry.Use {
	uses := map[telemetry.Metric]telemetry.Use{}
	for _, d := range Dashboards() {
		for p := range d.Panels() {
			for _, m := range p.reads() {
				u := uses[m]
				u.Panels = append(u.Panels, d.Name+"/"+p.Title)
				uses[m] = u
			}
		}
	}
	for _, a := range Alerts() {
		list, _ := metricsIn(expanded(a.Expr))
		for _, m := range list {
			u := uses[m]
			u.Alerts = append(u.Alerts, a.Name)
			uses[m] = u
		}
	}
	return uses
}

// expanded is an expression with what its recorded series are made of.
func expanded(expr string) string {
	for _, g := range Groups() {
		for _, r := range g.Records {
			if strings.Contains(expr, r.Name) {
				expr += "\n" + r.Expr
			}
		}
	}
	return expr
}

// reads is the metrics of all its queries, recorded ones included.
func (p *Panel) reads() []telemetry.Metric {
	text := ""
	for _, query := range p.Queries {
		text += query.Expr + "\n"
	}
	list, _ := metricsIn(expanded(text))
	return list
}

// definitions is every metric, in the order of the document.
func definitions() (list []telemetry.Metric) {
	for _, d := range telemetry.Definitions() {
		list = append(list, d.Name)
	}
	return list
}
