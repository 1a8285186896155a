package admin

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plimsoll-go/plimsoll/store"
)

// Metrics answers scrapes with what a status tells, and with what the runtime
// tells of the process. Labels are closed sets, and the names of entries.
func Metrics(status func() Status) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collector{status},
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

type collector struct{ status func() Status }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("plimsoll_"+name, help, labels, nil)
}

var (
	admittedDesc   = describe("admitted_total", "Requests that every entry let through.", "class")
	abandonedDesc  = describe("abandoned_total", "Requests whose client left before there was an answer.", "class")
	rejectedDesc   = describe("rejected_total", "Requests that were refused.", "entry", "class", "reason")
	shadowedDesc   = describe("shadowed_total", "Requests that an entry in shadow would have refused.", "entry", "class", "reason")
	faultsDesc     = describe("faults_total", "Times that an entry could not decide and its policy was used; an empty entry is the pipeline.", "entry", "kind")
	inFlightDesc   = describe("in_flight", "Requests that are held now.")
	readyDesc      = describe("serving", "1 while the process takes traffic.")
	storeDesc      = describe("store_state", "State of the store: 0 ok, 1 degraded, 2 down.", "driver")
	generationDesc = describe("config_generation", "Changes of the configuration that were applied, the first included.")
	configOKDesc   = describe("config_ok", "0 while the last change of the configuration is refused.")
	modeDesc       = describe("entry_mode", "1 for the mode that an entry is in.", "entry", "mode")
	buildDesc      = describe("build_info", "1, with the version.", "version")
)

// Describe sends every description.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		admittedDesc, abandonedDesc, rejectedDesc, shadowedDesc, faultsDesc, inFlightDesc,
		readyDesc, storeDesc, generationDesc, configOKDesc, modeDesc, buildDesc,
	} {
		to <- d
	}
}

// Collect sends every figure.
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c.status()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(inFlightDesc, float64(s.InFlight))
	gauge(readyDesc, one(s.State == Serving))
	gauge(storeDesc, float64(storeState(s.Store.State)), s.Store.Driver)
	gauge(generationDesc, float64(s.Config.Generation))
	gauge(configOKDesc, one(s.Config.Error == ""))
	gauge(buildDesc, 1, s.Version)
	for _, stage := range s.Stages {
		gauge(modeDesc, 1, stage.Name, stage.Mode)
	}
	collectCounts(to, &s.Counts)
}

func collectCounts(to chan<- prometheus.Metric, c *Counts) {
	counter := func(d *prometheus.Desc, value uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	for _, class := range c.Classes {
		counter(admittedDesc, class.Admitted, class.Class.String())
		counter(abandonedDesc, class.Abandoned, class.Class.String())
	}
	for _, f := range c.Faults {
		counter(faultsDesc, f.Count, "", f.Kind)
	}
	for _, e := range c.Entries {
		for _, r := range e.Rejected {
			counter(rejectedDesc, r.Count, e.Entry, r.Class.String(), r.Reason)
		}
		for _, r := range e.Shadowed {
			counter(shadowedDesc, r.Count, e.Entry, r.Class.String(), r.Reason)
		}
		for _, f := range e.Faults {
			counter(faultsDesc, f.Count, e.Entry, f.Kind)
		}
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func storeState(word string) store.State {
	for _, s := range []store.State{store.OK, store.Degraded} {
		if s.String() == word {
			return s
		}
	}
	return store.Down
}
