package telemetry

import (
	"context"
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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var scope metricdata.ScopeMetrics
	scope.Scope.Name = Scope
	now := time.Now()
	for i := range definitions {
		if d := &definitions[i]; d.Type == HistogramType {
			scope.Metrics = append(scope.Metrics, metricdata.Metrics{
				Name: string(d.Name), Description: d.Help, Unit: d.Unit, Data: t.histogram(d, now),
			})
		}
	}
	return []metricdata.ScopeMetrics{scope}, nil
}

func (t *Telemetry) histogram(d *Definition, now time.Time) metricdata.Histogram[float64] {
	h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, read := range d.timed(t) {
		h.DataPoints = append(h.DataPoints, metricdata.HistogramDataPoint[float64]{
			Attributes: t.attributes(d, read.labels), StartTime: t.started, Time: now,
			Count: read.timed(), Bounds: d.ladder.seconds(), BucketCounts: read.slots[:untimed], Sum: read.seconds(),
		})
	}
	return h
}
