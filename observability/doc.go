// Package observability is what operators import into their own systems:
// dashboards for Grafana, recording rules and alerts for Prometheus, and what
// to do at each alert.
//
// All of it is data. The files below deploy, docs/alerts.md and the table by
// which docs/metrics.md says where a metric is used are generated from it by
// go generate; each query is run against a real Prometheus that scrapes a real
// fleet (internal/observe), and each rule by promtool. Use the package to make
// the files with other names or thresholds; to look at a process by hand, its
// text dumps are nearer.
//
// Everything here is a function of nothing, may be called concurrently, and
// returns values that belong to the caller.
package observability
