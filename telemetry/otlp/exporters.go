package otlp

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func newMetricExporter(ctx context.Context, grpc bool) (sdkmetric.Exporter, error) {
	if grpc {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

func newSpanExporter(ctx context.Context, grpc bool) (sdktrace.SpanExporter, error) {
	if grpc {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func newLogExporter(ctx context.Context, grpc bool) (sdklog.Exporter, error) {
	if grpc {
		return otlploggrpc.New(ctx)
	}
	return otlploghttp.New(ctx)
}

// counted is an exporter of metrics whose failures are counted here and stay
// here: the next call brings what this one did not.
type counted struct {
	sdkmetric.Exporter
	counts *counts
}

// Export implements sdkmetric.Exporter.
func (c *counted) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	c.counts.ended(c.Exporter.Export(ctx, data))
	return nil
}

// spans is the queue of spans as the SDK wants it.
type spans struct{ queue *queue[sdktrace.ReadOnlySpan] }

var _ sdktrace.SpanProcessor = spans{}

// OnStart does nothing.
func (spans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span that is sampled.
func (s spans) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		s.queue.put(span)
	}
}

// Shutdown sends what is queued.
func (s spans) Shutdown(ctx context.Context) error {
	s.queue.shutdown(ctx)
	return nil
}

// ForceFlush does nothing: what is queued is sent soon.
func (spans) ForceFlush(context.Context) error { return nil }

// records is the queue of log records as the SDK wants it.
type records struct{ queue *queue[sdklog.Record] }

var _ sdklog.Processor = records{}

// Enabled is true: the level is the handler's business.
func (records) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit queues a copy of a record.
func (r records) OnEmit(_ context.Context, record *sdklog.Record) error {
	r.queue.put(record.Clone())
	return nil
}

// Shutdown sends what is queued.
func (r records) Shutdown(ctx context.Context) error {
	r.queue.shutdown(ctx)
	return nil
}

// ForceFlush does nothing: what is queued is sent soon.
func (records) ForceFlush(context.Context) error { return nil }
