package telemetry

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTraceparent(t *testing.T) {
	want := pipeline.Trace{
		ID:   [16]byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36},
		Span: [8]byte{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
	}
	for text, is := range map[string]bool{
		sampled: true, "01" + sampled[2:] + "-more": true, sampled[:53] + "03": true,
		"": false, sampled[:53] + "00": false, sampled + "-more": false, "ff" + sampled[2:]: false, "01" + sampled[2:] + "more": false,
		strings.ToUpper(sampled): false, strings.Replace(sampled, "00f067aa0ba902b7", "0000000000000000", 1): false,
		strings.Replace(sampled, "4bf92f3577b34da6a3ce929d0e0e4736", strings.Repeat("0", 32), 1): false, strings.Replace(sampled, "-", "_", 3): false,
	} {
		if got := parseTraceparent(text); (got == want) != is || !is && got != (pipeline.Trace{}) {
			t.Errorf("%q is %x", text, got)
		}
	}
	rapid.Check(t, func(rt *rapid.T) { parseTraceparent(rapid.String().Draw(rt, "any")) }) // panics at nothing
}

// recorder is Spans whose spans are kept.
func recorder(sampler sdktrace.Sampler) (*Spans, *tracetest.SpanRecorder, *sdktrace.TracerProvider) {
	kept := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept), sdktrace.WithSampler(sampler))
	return NewSpans(provider), kept, provider
}

// What was decided stands on the span that a request came in, also when it was
// refused; no span is made for it.
func TestADecisionIsNotedOnTheCurrentSpan(t *testing.T) {
	spans, kept, provider := recorder(sdktrace.AlwaysSample())
	p := observed(t, made(t, Config{}), pipeline.Entry{Name: "limit", Kind: "ratelimit", Stage: refusing("", pipeline.RateLimited)})
	ctx, span := provider.Tracer("test").Start(t.Context(), "outer")
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	q := &pipeline.Request{Class: priority.High, Trace: spans.Trace(r)}
	d := p.Acquire(ctx, q)
	spans.Decided(r, q, d)
	span.End()
	got := map[attribute.Key]string{}
	for _, a := range kept.Ended()[0].Attributes() {
		got[a.Key] = a.Value.AsString()
	}
	for key, want := range map[attribute.Key]string{
		AttributeClass: "high", AttributeDecision: "rejected", AttributeReason: "rate-limited", AttributeStage: "ratelimit",
		AttributeEntry: "limit", AttributeDecisionID: q.ID().String(),
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if len(kept.Ended()) != 1 || q.Trace.ID != span.SpanContext().TraceID() {
		t.Errorf("%d spans; the request's trace is %x", len(kept.Ended()), q.Trace.ID)
	}
}

// A span of its own is made where the trace is sampled, and ends whatever the
// handler does.
func TestASpanOfWhatWasAdmitted(t *testing.T) {
	for _, c := range []struct {
		name, traceparent, status string
		sampler                   sdktrace.Sampler
		handler                   http.HandlerFunc
		spans                     int
	}{
		{"sampled", sampled, "Unset", sdktrace.ParentBased(sdktrace.NeverSample()), func(http.ResponseWriter, *http.Request) {}, 1},
		{"not sampled", sampled[:53] + "00", "", sdktrace.ParentBased(sdktrace.AlwaysSample()), func(http.ResponseWriter, *http.Request) {}, 0},
		{"fails", sampled, "Error", sdktrace.ParentBased(sdktrace.NeverSample()), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, 1},
		{"panics", sampled, "Error", sdktrace.ParentBased(sdktrace.NeverSample()), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			spans, kept, _ := recorder(c.sampler)
			out := http.Header{}
			r := httptest.NewRequest("ODD", "/", http.NoBody)
			r.Header.Set("Traceparent", c.traceparent)
			func() {
				defer func() { _ = recover() }()
				spans.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					spans.Inject(r.Context(), out)
					c.handler(w, r)
				})).ServeHTTP(httptest.NewRecorder(), r)
			}()
			ended := kept.Ended()
			if len(ended) != c.spans || (out.Get("Traceparent") != "") != (c.spans > 0) {
				t.Fatalf("%d spans, the next is told %q", len(ended), out.Get("Traceparent"))
			}
			if c.spans > 0 && (ended[0].Name() != "_OTHER" || ended[0].Status().Code.String() != c.status || ended[0].Parent().SpanID().String() != "00f067aa0ba902b7") {
				t.Errorf("%s, %v, child of %v", ended[0].Name(), ended[0].Status(), ended[0].Parent().SpanID())
			}
		})
	}
}

// Without a span and a header nothing is allocated, nor with a header.
func TestTracesCostNothingWithoutSpans(t *testing.T) {
	var spans Spans
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	q := &pipeline.Request{}
	for _, traceparent := range []string{"", sampled} {
		if traceparent != "" {
			r.Header.Set("Traceparent", traceparent)
		}
		n := testing.AllocsPerRun(100, func() {
			q.Trace = spans.Trace(r)
			spans.Decided(r, q, pipeline.Decision{})
		})
		if n != 0 {
			t.Errorf("%q: %v allocations", traceparent, n)
		}
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	w := httptest.NewRecorder()
	if spans.Wrap(handler).ServeHTTP(w, r); w.Code != 204 {
		t.Errorf("answered %d", w.Code)
	}
}

func BenchmarkSpans(b *testing.B) {
	for name, traceparent := range map[string]string{"no header": "", "sampled header": sampled} {
		b.Run(name, func(b *testing.B) {
			var spans Spans
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			if traceparent != "" {
				r.Header.Set("Traceparent", traceparent)
			}
			q := &pipeline.Request{}
			b.ReportAllocs()
			for b.Loop() {
				q.Trace = spans.Trace(r)
				spans.Decided(r, q, pipeline.Decision{})
			}
		})
	}
}

// A refusal that is not logged one by one, and a decision of a sampled trace.
func BenchmarkDetail(b *testing.B) {
	l, err := NewRefusalLog(RefusalLogConfig{Logger: slog.New(slog.DiscardHandler), PerSecond: -1})
	if err != nil {
		b.Fatal(err)
	}
	observer := made(b, Config{Refusals: l})
	p := observed(b, observer, pipeline.Entry{Name: "limit", Stage: refusing("", pipeline.RateLimited)})
	for name, trace := range map[string]pipeline.Trace{"refused": {}, "refused, sampled": {ID: [16]byte{1}}} {
		b.Run(name, func(b *testing.B) {
			r := &pipeline.Request{Trace: trace}
			d := p.Acquire(b.Context(), r)
			b.ReportAllocs()
			for b.Loop() {
				observer.Decided(r, d)
			}
		})
	}
}

func TestQuantiles(t *testing.T) {
	observer := made(t, Config{})
	for i := range int64(100) {
		observer.Released(&pipeline.Request{Now: 1}, pipeline.Result{At: 1 + (i+1)*1_000_000})
	}
	for share, want := range map[float64]float64{0.5: 0.05, 0.99: 0.099, 0: 0.001, 1: 0.1} {
		got := observer.Quantiles(RequestDuration, share)
		if len(got) != 1 || got[0].Value < want || got[0].Value > 1.2*want {
			t.Errorf("%v: %v, want about %v", share, got, want)
		}
	}
	if observer.Quantiles(Requests, 0.5) != nil || observer.Quantiles(DecisionDuration, 0.5) != nil {
		t.Error("quantiles of what has none")
	}
}
