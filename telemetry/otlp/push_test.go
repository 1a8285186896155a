package otlp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"net/http"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/plimsoll-go/plimsoll/internal/otlptest"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// environment sets variables, and takes those of the machine away.
func environment(t *testing.T, pairs ...string) Settings {
	t.Helper()
	s, err := settings(t, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func settings(t *testing.T, pairs ...string) (Settings, error) {
	t.Helper()
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
	} {
		t.Setenv(name, "")
	}
	for i := 0; i < len(pairs); i += 2 {
		t.Setenv(pairs[i], pairs[i+1])
	}
	return FromEnvironment()
}

// counting is a Telemetry that has counted a decision.
func counting(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	counted, err := telemetry.New(telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pipeline.NewPlan()
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: counted})
	if err != nil {
		t.Fatal(err)
	}
	counted.Follow(p)
	r := &pipeline.Request{Trace: pipeline.Trace{ID: [16]byte{7}, Span: [8]byte{8}}}
	p.Acquire(t.Context(), r)
	p.Release(r, pipeline.Result{})
	return counted
}

func started(t *testing.T, s Settings) *Push {
	t.Helper()
	p, err := Start(t.Context(), s, Config{Telemetry: counting(t), Version: "v9", Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shutdown(t *testing.T, p *Push, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return p.Shutdown(ctx)
}

// span makes a span of a request through a handler.
func span(p *Push) {
	handler := p.Spans().Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/tea", nil))
}

// Every signal arrives over both protocols, with what the environment says of
// the sender.
func TestEverySignalArrives(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			receiver := new(otlptest.Receiver)
			p := started(t, environment(t,
				"OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+serve(t, receiver, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL", protocol,
				"OTEL_SERVICE_NAME", "shop", "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test", "OTEL_TRACES_SAMPLER", "always_on",
			))
			span(p)
			slog.New(p.Handler()).Warn("refused", "class", "low")
			if err := shutdown(t, p, patience); err != nil {
				t.Fatal(err)
			}
			checkReceived(t, receiver)
			for _, point := range p.Exports() {
				if want := map[string]float64{"sent": 1}[point.Labels[1]]; point.Value != want {
					t.Errorf("%v: %v, want %v", point.Labels, point.Value, want)
				}
			}
		})
	}
}

// serve lets a receiver listen, and returns its address.
func serve(t *testing.T, receiver *otlptest.Receiver, protocol string) string {
	t.Helper()
	if protocol != "grpc" {
		server := httptest.NewServer(receiver)
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	l := listen(t)
	server := receiver.GRPC()
	t.Cleanup(server.Stop)
	go server.Serve(l) //nolint:errcheck // ends with Stop
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func checkReceived(t *testing.T, receiver *otlptest.Receiver) {
	t.Helper()
	about := receiver.Resource()
	for key, want := range map[string]string{"service.name": "shop", "service.version": "v9", "deployment.environment.name": "test"} {
		if about[key] != want {
			t.Errorf("the resource's %s is %q, want %q", key, about[key], want)
		}
	}
	var admitted int64
	for _, point := range receiver.Metric(string(telemetry.Requests)).GetSum().GetDataPoints() {
		if labels := otlptest.Texts(point.GetAttributes()); labels["class"] == "normal" && labels["outcome"] == "admitted" {
			admitted = point.GetAsInt()
		}
	}
	if admitted != 1 {
		t.Errorf("%d requests were admitted, want 1", admitted)
	}
	if h := receiver.Metric(string(telemetry.RequestDuration)).GetHistogram(); len(h.GetDataPoints()) == 0 || exemplars(h) != 1 {
		t.Errorf("the histogram has %d points and %d exemplars", len(h.GetDataPoints()), exemplars(h))
	}
	if spans := receiver.Spans(); len(spans) != 1 || otlptest.Texts(spans[0].GetAttributes())["http.response.status_code"] != "418" {
		t.Errorf("spans: %v", spans)
	}
	if records := receiver.Records(); len(records) != 1 || records[0].GetBody().GetStringValue() != "refused" {
		t.Errorf("records: %v", records)
	}
}

func exemplars(h *metricspb.Histogram) (n int) {
	for _, point := range h.GetDataPoints() {
		n += len(point.GetExemplars())
	}
	return n
}

func TestHistogramsCanBeExponential(t *testing.T) {
	receiver := new(otlptest.Receiver)
	p := started(t, environment(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://"+serve(t, receiver, "")+"/v1/metrics",
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "base2_exponential_bucket_histogram"))
	if err := shutdown(t, p, patience); err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, point := range receiver.Metric(string(telemetry.DecisionDuration)).GetExponentialHistogram().GetDataPoints() {
		sum += point.GetZeroCount()
		for _, n := range point.GetPositive().GetBucketCounts() {
			sum += n
		}
	}
	if sum != 1 || p.Spans() != nil || p.Handler() != nil {
		t.Errorf("%d decisions in buckets; spans %v, handler %v", sum, p.Spans(), p.Handler())
	}
}

// A receiver that takes connections and never answers, one that is not there,
// and one that refuses: who leaves something is not kept waiting, what is lost
// is counted, and the end is bounded.
func TestAReceiverThatIsNoGood(t *testing.T) {
	gone := listen(t)
	gone.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer refusing.Close()
	for name, address := range map[string]string{"hangs": listen(t).Addr().String(), "is gone": gone.Addr().String(), "refuses": refusing.Listener.Addr().String()} {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			t.Run(name+" over "+protocol, func(t *testing.T) {
				p := started(t, environment(t,
					"OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol,
					"OTEL_BSP_MAX_QUEUE_SIZE", "16", "OTEL_BLRP_MAX_QUEUE_SIZE", "16", "OTEL_TRACES_SAMPLER", "always_on",
				))
				log := slog.New(p.Handler())
				const each = 500
				for range each {
					span(p)
					log.Info("one")
				}
				if err := shutdown(t, p, time.Second); err != nil && !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
					t.Log(err)
				}
				for _, i := range []signal{traces, logs} {
					c := p.counts[i]
					deadline := time.After(patience)
					for c.dropped.Load() != each {
						select {
						case <-deadline:
							t.Fatalf("%v: %d of %d were counted as dropped", i, c.dropped.Load(), each)
						case <-time.After(5 * time.Millisecond):
						}
					}
				}
			})
		}
	}
}

// The queue is one of a fixed size: what comes beyond it is dropped at once.
func TestTheQueueIsBounded(t *testing.T) {
	c := &counts{log: slog.New(slog.DiscardHandler)}
	var sent atomic.Int64
	hold := make(chan struct{})
	q := newQueue(batching{queue: 8, batch: 4, delay: time.Hour, timeout: time.Hour}, c, func(_ context.Context, batch []int) error {
		<-hold
		sent.Add(int64(len(batch)))
		return nil
	})
	for i := range 20 {
		q.put(i)
	}
	if n := c.dropped.Load(); n != 12 {
		t.Errorf("%d were dropped, want 12", n)
	}
	go q.run()
	close(hold)
	q.shutdown(t.Context())
	if sent.Load() != 8 || c.sent.Load() != 2 {
		t.Errorf("%d were sent in %d calls, want 8 in 2", sent.Load(), c.sent.Load())
	}
}
