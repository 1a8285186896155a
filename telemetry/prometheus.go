package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
)

// A Telemetry is registered where the caller likes; nothing of it is global.
var _ prometheus.Collector = (*Telemetry)(nil)

func (t *Telemetry) describe() {
	var constant prometheus.Labels
	if t.config.Pipeline != "" {
		constant = prometheus.Labels{pipelineLabel: t.config.Pipeline}
	}
	for i := range definitions {
		d := &definitions[i]
		t.descs = append(t.descs, prometheus.NewDesc(d.Prometheus(), d.Help, d.Labels, constant))
	}
}

// pipelineLabel is the label of Config.Pipeline.
const pipelineLabel = "pipeline"

// Describe sends every description.
func (t *Telemetry) Describe(to chan<- *prometheus.Desc) {
	for _, d := range t.descs {
		to <- d
	}
}

// Collect sends every figure.
func (t *Telemetry) Collect(to chan<- prometheus.Metric) {
	for i := range definitions {
		d := &definitions[i]
		if d.Type == HistogramType {
			t.collectTimed(d, t.descs[i], to)
		} else {
			t.collectPoints(d, t.descs[i], to)
		}
	}
}

func (t *Telemetry) collectPoints(d *Definition, desc *prometheus.Desc, to chan<- prometheus.Metric) {
	kind := prometheus.CounterValue
	if d.Type == GaugeType {
		kind = prometheus.GaugeValue
	}
	for _, p := range t.points(d) {
		to <- prometheus.MustNewConstMetric(desc, kind, p.Value, p.Labels...)
	}
}

func (t *Telemetry) collectTimed(d *Definition, desc *prometheus.Desc, to chan<- prometheus.Metric) {
	limits := d.ladder.seconds()
	for _, h := range d.timed(t) {
		buckets, below := make(map[float64]uint64, bounds), uint64(0)
		for i, limit := range limits {
			below += h.slots[i]
			buckets[limit] = below
		}
		to <- prometheus.MustNewConstHistogram(desc, below+h.slots[beyond], h.seconds(), buckets, h.labels...)
	}
}
