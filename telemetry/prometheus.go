package telemetry

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
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
	for _, read := range d.timed(t) {
		to <- &both{desc, d.ladder, read, t.started}
	}
}

// both is a histogram of both kinds: whoever scrapes takes the native one where
// it can, which needs the protobuf format, and the classic one else.
type both struct {
	desc    *prometheus.Desc
	ladder  *ladder
	read    timed
	started time.Time
}

// Desc is the description that it belongs to.
func (b *both) Desc() *prometheus.Desc { return b.desc }

// Write fills in both kinds, and the exemplars of each.
func (b *both) Write(to *dto.Metric) error {
	zero, buckets := b.read.native(b.ladder)
	native, err := prometheus.NewConstNativeHistogram(b.desc, b.read.timed(), b.read.seconds(), buckets, nil, zero, schema,
		b.ladder.zero, b.started, b.read.labels...)
	if err != nil {
		return err
	}
	if err := native.Write(to); err != nil {
		return err
	}
	below, limits := uint64(0), b.ladder.seconds()
	examples := b.read.examples.all()
	for i, count := range b.read.classic(b.ladder) {
		below += count
		bucket := &dto.Bucket{CumulativeCount: new(below), UpperBound: new(math.Inf(1))}
		if i < len(limits) {
			bucket.UpperBound = &limits[i]
		}
		if example := &examples[i]; example.at != 0 {
			shown := example.prometheus()
			bucket.Exemplar = shown
			to.Histogram.Exemplars = append(to.Histogram.Exemplars, shown)
		}
		to.Histogram.Bucket = append(to.Histogram.Bucket, bucket)
	}
	return nil
}

// prometheus is the example as its formats write it.
func (e *example) prometheus() *dto.Exemplar {
	trace, span := e.ids()
	return &dto.Exemplar{
		Label:     []*dto.LabelPair{{Name: new("trace_id"), Value: &trace}, {Name: new("span_id"), Value: &span}},
		Value:     new(e.seconds()),
		Timestamp: timestamppb.New(e.time()),
	}
}
