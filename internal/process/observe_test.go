package process

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/otlptest"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// strict refuses the second request of a caller.
const strict = `version: 1
identity: {caller: [header:X-Caller]}
log: {format: json, summary: 50ms}
stages:
  - stage: ratelimit
    limits: [{name: slow, key: [caller], rate: 1/hour, burst: 1}]
  - {stage: workershed}
`

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent  = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// trace sends a request of a caller in a trace, and returns the status.
func (r *running) trace(t *testing.T, caller, traceparent string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/things", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Caller", caller)
	request.Header.Set("Baggage", "tenant=7")
	if traceparent != "" {
		request.Header.Set("Traceparent", traceparent)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// seen is the trace headers that an upstream got.
type seen struct{ traceparent, baggage atomic.Value }

func (s *seen) handler(w http.ResponseWriter, r *http.Request) {
	s.traceparent.Store(r.Header.Get("Traceparent"))
	s.baggage.Store(r.Header.Get("Baggage"))
	w.WriteHeader(http.StatusNoContent)
}

// From the request to the receiver: an admitted request of a sampled trace
// makes a span, which the upstream's is a child of; a refusal makes none, and
// is a record; the scrape has exemplars.
func TestWhatIsPushed(t *testing.T) {
	receiver := new(otlptest.Receiver)
	l := listen(t)
	server := receiver.GRPC()
	defer server.Stop()
	go server.Serve(l) //nolint:errcheck // ends with Stop
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	upstream := &seen{}
	r := start(t, file(t, strict), upstream.handler)
	if first, second := r.trace(t, "alice", parent), r.trace(t, "alice", parent); first != http.StatusNoContent || second != http.StatusTooManyRequests {
		t.Fatalf("answered %d and %d", first, second)
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.side+"/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text")
	scrape := body(t, request)
	if !strings.Contains(scrape, `# {trace_id="`+traceID+`"`) {
		t.Error("the scrape has no exemplar")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	spans := receiver.Spans()
	if len(spans) != 1 {
		t.Fatalf("%d spans, want one: of the request that was admitted", len(spans))
	}
	attributes := otlptest.Texts(spans[0].GetAttributes())
	for key, want := range map[string]string{
		"plimsoll.decision": "admitted", "plimsoll.priority": "normal", "http.response.status_code": "204", "http.request.method": "GET",
	} {
		if attributes[key] != want {
			t.Errorf("the span's %s is %q, want %q", key, attributes[key], want)
		}
	}
	if got := upstream.traceparent.Load().(string); !strings.HasPrefix(got, "00-"+traceID) || got == parent || upstream.baggage.Load() != "tenant=7" {
		t.Errorf("the upstream got %s, baggage %v", got, upstream.baggage.Load())
	}
	checkRecords(t, receiver, r.log.String())
}

func checkRecords(t *testing.T, receiver *otlptest.Receiver, written string) {
	t.Helper()
	refused := 0
	for _, record := range receiver.Records() {
		if attributes := otlptest.Texts(record.GetAttributes()); attributes["event"] == "plimsoll.request.refused" {
			refused++
			if attributes["trace_id"] != traceID || attributes["reason"] != "rate-limited" || strings.Contains(attributes["caller"], "alice") {
				t.Errorf("the record says %v", attributes)
			}
		}
	}
	if refused != 1 || strings.Count(written, `"msg":"request refused"`) != 1 || !strings.Contains(written, `"msg":"requests were refused"`) {
		t.Errorf("%d refusals were pushed; written was\n%s", refused, written)
	}
	if strings.Contains(written, "alice") {
		t.Error("the log names a caller")
	}
	if receiver.Metric(string(telemetry.Requests)) == nil {
		t.Error("no metrics were pushed")
	}
}

func body(t *testing.T, request *http.Request) string {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A trace that nobody samples, and no trace, go through as they came.
func TestTracesThatAreNotSampledTravelOn(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listen(t).Addr().String())
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
	upstream := &seen{}
	r := start(t, "", upstream.handler)
	unsampled := strings.TrimSuffix(parent, "01") + "00"
	for _, traceparent := range []string{"", unsampled} {
		if r.trace(t, "", traceparent); upstream.traceparent.Load() != traceparent {
			t.Errorf("%q came as %v", traceparent, upstream.traceparent.Load())
		}
	}
}

// A receiver that takes connections and says nothing: requests do not notice,
// what is lost is counted, and the process ends in time.
func TestAReceiverThatHangsIsNotNoticed(t *testing.T) {
	hanging := listen(t)
	defer hanging.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+hanging.Addr().String())
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
	r := start(t, "", hello)
	const requests = 200
	for range requests {
		if status := r.trace(t, "", parent); status != http.StatusOK {
			t.Fatalf("answered %d", status)
		}
	}
	if _, scrape := get(t, r.side+"/metrics"); !strings.Contains(scrape, "\n"+`plimsoll_otlp_dropped_total{signal="traces"} `) ||
		strings.Contains(scrape, `plimsoll_otlp_dropped_total{signal="traces"} 0`) {
		t.Error("no dropped spans are told")
	}
	done := make(chan error, 1)
	go func() { done <- r.stop() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it would hang for ever
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("the process does not end")
	}
}

func TestAFaultyEnvironmentIsRefused(t *testing.T) {
	t.Setenv("OTEL_METRICS_EXPORTER", "console")
	if _, err := New(Config{Text: []byte("version: 1\nupstream: http://127.0.0.1:1")}); err == nil || !strings.Contains(err.Error(), "OTEL_METRICS_EXPORTER") {
		t.Errorf("got %v", err)
	}
}
