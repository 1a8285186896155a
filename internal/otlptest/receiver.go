package otlptest

import (
	"context"
	"sync"

	collectlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// kept bounds the spans and records that are kept: the last so many.
const kept = 4096

// Receiver keeps what it is sent. The zero value is ready.
type Receiver struct {
	mu       sync.Mutex
	calls    int
	resource map[string]string // of the last call
	metrics  map[string]*metricspb.Metric
	spans    []*tracepb.Span
	records  []*logspb.LogRecord
	changed  chan struct{} // closed at the next call
}

// Wait waits until a condition holds, which is asked at first and after each
// call that comes in; it reports false when the context ended before.
func (r *Receiver) Wait(ctx context.Context, holds func() bool) bool {
	for {
		r.mu.Lock()
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if holds() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return holds()
		}
	}
}

// Calls is how many calls came in.
func (r *Receiver) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// Resource is what the last call said of its sender.
func (r *Receiver) Resource() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resource
}

// Metric is the last of a name that came, or nil.
func (r *Receiver) Metric(name string) *metricspb.Metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metrics[name]
}

// Metrics is how many metrics came, by name.
func (r *Receiver) Metrics() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.metrics)
}

// Spans is the last spans that came.
func (r *Receiver) Spans() []*tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*tracepb.Span(nil), r.spans...)
}

// Records is the last log records that came.
func (r *Receiver) Records() []*logspb.LogRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*logspb.LogRecord(nil), r.records...)
}

// called keeps a call, under the lock.
func (r *Receiver) called(keep func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	keep()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *Receiver) tookMetrics(request *collectmetrics.ExportMetricsServiceRequest) {
	r.called(func() {
		if r.metrics == nil {
			r.metrics = map[string]*metricspb.Metric{}
		}
		for _, of := range request.GetResourceMetrics() {
			r.resource = texts(of.GetResource())
			for _, scope := range of.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					if len(r.metrics) < kept {
						r.metrics[m.GetName()] = m
					}
				}
			}
		}
	})
}

func (r *Receiver) tookSpans(request *collecttrace.ExportTraceServiceRequest) {
	r.called(func() {
		for _, of := range request.GetResourceSpans() {
			r.resource = texts(of.GetResource())
			for _, scope := range of.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
		r.spans = r.spans[max(0, len(r.spans)-kept):]
	})
}

func (r *Receiver) tookLogs(request *collectlogs.ExportLogsServiceRequest) {
	r.called(func() {
		for _, of := range request.GetResourceLogs() {
			r.resource = texts(of.GetResource())
			for _, scope := range of.GetScopeLogs() {
				r.records = append(r.records, scope.GetLogRecords()...)
			}
		}
		r.records = r.records[max(0, len(r.records)-kept):]
	})
}

func texts(r *resourcepb.Resource) map[string]string { return Texts(r.GetAttributes()) }

// Texts is attributes as a map, numbers and truths as text.
func Texts(attributes []*commonpb.KeyValue) map[string]string {
	list := map[string]string{}
	for _, a := range attributes {
		list[a.GetKey()] = text(a.GetValue())
	}
	return list
}
