package telemetry

import (
	"context"
	"math"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Scope is the name of the instrumentation scope of histograms, and a good one
// for the meter of RegisterOTel.
const Scope = "github.com/plimsoll-go/plimsoll/telemetry"

// Produce tells a reader of OpenTelemetry's SDK the histograms, counted from
// the making of the Telemetry on: it is a metric.Producer, for
// metric.WithProducer.
func (t *Telemetry) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	return t.produce(ctx, t.histogram)
}

// Exponential tells the same histograms in exponential buckets: it is a
// metric.Producer, too.
func (t *Telemetry) Exponential(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	return t.produce(ctx, t.exponential)
}

func (t *Telemetry) produce(ctx context.Context, data func(*Definition, time.Time) metricdata.Aggregation) ([]metricdata.ScopeMetrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var scope metricdata.ScopeMetrics
	scope.Scope.Name = Scope
	now := time.Now()
	for i := range definitions {
		if d := &definitions[i]; d.Type == HistogramType {
			scope.Metrics = append(scope.Metrics, metricdata.Metrics{
				Name: string(d.Name), Description: d.Help, Unit: d.Unit, Data: data(d, now),
			})
		}
	}
	return []metricdata.ScopeMetrics{scope}, nil
}

func (t *Telemetry) histogram(d *Definition, now time.Time) metricdata.Aggregation {
	h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, read := range d.timed(t) {
		h.DataPoints = append(h.DataPoints, metricdata.HistogramDataPoint[float64]{
			Attributes: t.attributes(d, read.labels), StartTime: t.started, Time: now,
			Count: read.timed(), Bounds: d.ladder.seconds(), BucketCounts: read.classic(d.ladder), Sum: read.seconds(),
			Exemplars: read.examples.openTelemetry(),
		})
	}
	return h
}

func (t *Telemetry) exponential(d *Definition, now time.Time) metricdata.Aggregation {
	h := metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, read := range d.timed(t) {
		zero, buckets := read.native(d.ladder)
		h.DataPoints = append(h.DataPoints, metricdata.ExponentialHistogramDataPoint[float64]{
			Attributes: t.attributes(d, read.labels), StartTime: t.started, Time: now,
			Count: read.timed(), Sum: read.seconds(), Scale: schema, ZeroCount: zero, ZeroThreshold: d.ladder.zero,
			PositiveBucket: consecutive(buckets), Exemplars: read.examples.openTelemetry(),
		})
	}
	return h
}

// consecutive is buckets in a row. OpenTelemetry names a bucket by the index
// where it begins, Prometheus by where it ends.
func consecutive(buckets map[int]int64) (row metricdata.ExponentialBucket) {
	if len(buckets) == 0 {
		return row
	}
	first, last := math.MaxInt, math.MinInt
	for index := range buckets {
		first, last = min(first, index), max(last, index)
	}
	row.Offset, row.Counts = int32(first-1), make([]uint64, last-first+1)
	for index, n := range buckets {
		row.Counts[index-first] = uint64(n)
	}
	return row
}

// openTelemetry is the examples as metricdata has them.
func (e *exemplars) openTelemetry() (list []metricdata.Exemplar[float64]) {
	for _, example := range e.all() {
		if example.at != 0 {
			list = append(list, metricdata.Exemplar[float64]{
				Time: example.time(), Value: example.seconds(), TraceID: example.trace.ID[:], SpanID: example.trace.Span[:],
			})
		}
	}
	return list
}
