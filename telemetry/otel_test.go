package telemetry

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// collected is what OpenTelemetry's SDK collects of several Telemetries.
func collected(t testing.TB, list ...*Telemetry) map[string]metricdata.Metrics {
	t.Helper()
	var options []sdk.ManualReaderOption
	for _, observer := range list {
		options = append(options, sdk.WithProducer(observer))
	}
	reader := sdk.NewManualReader(options...)
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	defer provider.Shutdown(t.Context())
	for _, observer := range list {
		if _, err := observer.RegisterOTel(provider.Meter(Scope)); err != nil {
			t.Fatal(err)
		}
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	metrics := map[string]metricdata.Metrics{}
	for _, scope := range data.ScopeMetrics {
		if scope.Scope.Name != Scope {
			t.Errorf("scope %q", scope.Scope.Name)
		}
		for _, m := range scope.Metrics {
			metrics[m.Name] = m
		}
	}
	return metrics
}

// figures lists the values of a metric as "labels value".
func figures(t testing.TB, m metricdata.Metrics) (list []string) {
	t.Helper()
	show := func(set attribute.Set, value any) {
		list = append(list, set.Encoded(attribute.DefaultEncoder())+" "+fmt.Sprint(value))
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		if !data.IsMonotonic || data.Temporality != metricdata.CumulativeTemporality {
			t.Errorf("%s is no counter", m.Name)
		}
		for _, p := range data.DataPoints {
			show(p.Attributes, p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			show(p.Attributes, p.Value)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			show(p.Attributes, p.Count)
		}
	default:
		t.Errorf("%s is %T", m.Name, data)
	}
	slices.Sort(list)
	return list
}

// busy is a Telemetry that has something to tell of every kind.
func busy(t testing.TB, name string) *Telemetry {
	refusals, err := NewRefusalLog(RefusalLogConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	observer := made(t, Config{Pipeline: name, Sources: everySource(), Refusals: refusals})
	p := observed(t, observer,
		pipeline.Entry{Name: "limit", Kind: "ratelimit", Stage: refusing("refused", pipeline.RateLimited)},
		pipeline.Entry{Name: "dark", Mode: pipeline.Shadow, Stage: refusing("shadowed", pipeline.FleetShed)},
		pipeline.Entry{Name: "broken", OnFault: pipeline.Open, Stage: panicking("panics")},
	)
	for _, host := range []string{"fine", "refused", "shadowed", "panics"} {
		run(t.Context(), p, &pipeline.Request{Subject: match.Subject{Host: host}, Class: priority.High}, pipeline.Dropped)
	}
	observer.Decided(waiting(), pipeline.Decision{})
	return observer
}

// waiting is a request of a sampled trace that waited for the store and in the queue.
func waiting() *pipeline.Request {
	return &pipeline.Request{
		Class: priority.High, Trace: pipeline.Trace{ID: [16]byte{1}, Span: [8]byte{2}},
		Waits: pipeline.Waits{Store: 3_000_000, Delay: 100_000_000, Queue: 40_000_000},
	}
}

// Both exporters tell the same figures, under the same names.
func TestOpenTelemetryTellsWhatPrometheusTells(t *testing.T) {
	observer := busy(t, "")
	metrics := collected(t, observer)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(observer)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(metrics) != len(definitions) || len(families) != len(definitions) {
		t.Errorf("%d metrics of OpenTelemetry and %d of Prometheus, %d are defined", len(metrics), len(families), len(definitions))
	}
	scraped := map[string][]string{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var set []attribute.KeyValue
			for _, l := range m.GetLabel() {
				set = append(set, attribute.String(l.GetName(), l.GetValue()))
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			labels := attribute.NewSet(set...)
			scraped[family.GetName()] = append(scraped[family.GetName()], labels.Encoded(attribute.DefaultEncoder())+" "+fmt.Sprint(value))
		}
		slices.Sort(scraped[family.GetName()])
	}
	for _, d := range Definitions() {
		m := metrics[string(d.Name)]
		if m.Description != d.Help || m.Unit != d.Unit {
			t.Errorf("%s is described as %q, in %q", d.Name, m.Description, m.Unit)
		}
		if got, want := figures(t, m), scraped[d.Prometheus()]; !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s\n got %q\nwant %q", d.Name, got, want)
		}
	}
}

func TestHistogramsOfOpenTelemetry(t *testing.T) {
	observer := made(t, Config{})
	r := &pipeline.Request{Class: priority.Low}
	observer.Decided(r, pipeline.Decision{}) // without a clock: not timed
	observer.Released(r, pipeline.Result{At: 150_000})
	observer.Released(r, pipeline.Result{At: 1 << 62})
	data := collected(t, observer)[string(RequestDuration)].Data.(metricdata.Histogram[float64])
	for _, p := range data.DataPoints {
		if class, _ := p.Attributes.Value("class"); class.AsString() != "low" || p.Count == 0 {
			continue
		}
		if p.Count != 2 || p.BucketCounts[1] != 1 || p.BucketCounts[classics] != 1 || len(p.BucketCounts) != len(p.Bounds)+1 {
			t.Errorf("%d counted: %v", p.Count, p.BucketCounts)
		}
		if p.StartTime.IsZero() || p.Time.Before(p.StartTime) {
			t.Errorf("counted from %v to %v", p.StartTime, p.Time)
		}
	}
	for _, p := range collected(t, observer)[string(DecisionDuration)].Data.(metricdata.Histogram[float64]).DataPoints {
		if p.Count != 0 {
			t.Errorf("%d decisions were timed without a clock", p.Count)
		}
	}
}

func TestTwoPipelinesShareAMeter(t *testing.T) {
	metrics := collected(t, busy(t, "a"), busy(t, "b"))
	got := figures(t, metrics[string(Faults)])
	for _, want := range []string{"entry=broken,kind=panic,pipeline=a 1", "entry=broken,kind=panic,pipeline=b 1"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
}

func TestUnregisteredItTellsNothing(t *testing.T) {
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	defer provider.Shutdown(t.Context())
	registration, err := busy(t, "").RegisterOTel(provider.Meter(Scope))
	if err != nil {
		t.Fatal(err)
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil || len(data.ScopeMetrics) != 0 {
		t.Errorf("%v, %v", data.ScopeMetrics, err)
	}
	if _, err := busy(t, "").RegisterOTel(nil); err == nil {
		t.Error("no meter is no error")
	}
}
