package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// The attributes of spans.
const (
	AttributeClass      = attribute.Key("plimsoll.priority")    // of the request: critical, high, normal or low
	AttributeDecision   = attribute.Key("plimsoll.decision")    // admitted, rejected or abandoned
	AttributeDecisionID = attribute.Key("plimsoll.decision_id") // as in the Plimsoll-Decision header
	AttributeReason     = attribute.Key("plimsoll.reason")      // of a refusal
	AttributeStage      = attribute.Key("plimsoll.stage")       // the kind of stage that refused
	AttributeEntry      = attribute.Key("plimsoll.entry")       // the entry of the plan that refused
	AttributeLimit      = attribute.Key("plimsoll.limit")       // the limit or rule that decided
	AttributeQueue      = attribute.Key("plimsoll.queue_ns")    // nanoseconds in the worker's queue
	AttributeStore      = attribute.Key("plimsoll.store_ns")    // nanoseconds for a remote store
)

// Spans ties decisions to the spans of OpenTelemetry: it is an httpmw.Tracer.
// A refusal never makes a span; what was decided is noted on the span that is
// there. The zero value notes, and makes no spans of its own. Where no span
// records, a request costs two look-ups and no allocation.
type Spans struct {
	tracer trace.Tracer // nil: no spans of its own
}

// NewSpans also makes a span for each request that Wrap passes on, as far as
// the provider samples it.
func NewSpans(provider trace.TracerProvider) *Spans {
	return &Spans{tracer: provider.Tracer(Scope)}
}

// Trace is the sampled trace that a request belongs to: by the span of its
// context, or by its Traceparent header where no span is there. Exemplars point
// to it.
func (s *Spans) Trace(r *http.Request) pipeline.Trace {
	if span := trace.SpanContextFromContext(r.Context()); span.IsValid() {
		if !span.IsSampled() {
			return pipeline.Trace{}
		}
		return pipeline.Trace{ID: span.TraceID(), Span: span.SpanID()}
	}
	if lines := r.Header["Traceparent"]; len(lines) == 1 {
		return parseTraceparent(lines[0])
	}
	return pipeline.Trace{}
}

// Decided notes a decision on the span of a request.
func (s *Spans) Decided(r *http.Request, q *pipeline.Request, d pipeline.Decision) {
	if span := trace.SpanFromContext(r.Context()); span.IsRecording() {
		span.SetAttributes(decisionAttributes(q, d)...)
	}
}

func decisionAttributes(q *pipeline.Request, d pipeline.Decision) []attribute.KeyValue {
	list := []attribute.KeyValue{
		AttributeClass.String(q.Class.String()), AttributeDecision.String(outcomeOf(d.Verdict).String()),
		AttributeDecisionID.String(q.ID().String()),
	}
	if d.Verdict == pipeline.Reject {
		e := q.Entry(d)
		list = append(list, AttributeReason.String(d.Reason.String()), AttributeStage.String(label(e.Kind)), AttributeEntry.String(label(e.Name)))
		if q.Detail.Rule != "" {
			list = append(list, AttributeLimit.String(label(q.Detail.Rule)))
		}
	}
	if q.Waits.Queue > 0 {
		list = append(list, AttributeQueue.Int64(q.Waits.Queue))
	}
	if q.Waits.Store > 0 {
		list = append(list, AttributeStore.Int64(q.Waits.Store))
	}
	return list
}

// propagator is how traces travel from service to service.
var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Wrap makes a span of what an admitted request does in a handler, such as a
// proxy, when its trace is sampled. Put it inside of the middleware, so that
// refusals make none.
func (s *Spans) Wrap(next http.Handler) http.Handler {
	if s.tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent := r.Context()
		if !trace.SpanContextFromContext(parent).IsValid() {
			parent = propagator.Extract(parent, propagation.HeaderCarrier(r.Header))
		}
		ctx, span := s.tracer.Start(parent, spanName(r), trace.WithSpanKind(trace.SpanKindServer))
		if !span.IsRecording() {
			next.ServeHTTP(w, r)
			return
		}
		span.SetAttributes(requestAttributes(r)...)
		seen := &statusWriter{ResponseWriter: w}
		defer seen.end(span)
		next.ServeHTTP(seen, r.WithContext(ctx))
		seen.returned = true
	})
}

// Inject writes the span of a context, and its baggage, onto the headers of a
// request that is made for it. Without a span that records it changes nothing:
// then the headers travel on as they came.
func (s *Spans) Inject(ctx context.Context, out http.Header) {
	if trace.SpanFromContext(ctx).IsRecording() {
		propagator.Inject(ctx, propagation.HeaderCarrier(out))
	}
}

// spanName is the method and, where the request has one, the route: both
// closed sets.
func spanName(r *http.Request) string {
	name := knownMethod(r.Method)
	if q := pipeline.FromContext(r.Context()); q != nil && q.RouteName() != "" {
		name += " " + label(q.RouteName())
	}
	return name
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "_OTHER"
}

func requestAttributes(r *http.Request) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("http.request.method", knownMethod(r.Method)), attribute.String("url.path", label(r.URL.Path)),
	}
	if q := pipeline.FromContext(r.Context()); q != nil {
		list = append(list, decisionAttributes(q, pipeline.Decision{})...)
	}
	return list
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter

	status   int
	returned bool // the handler did not panic
}

// WriteHeader remembers the final status.
func (w *statusWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Flush flushes what has been written.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// end notes the status, and ends the span. Of a server one of 500 and above is
// an error, and so is an answer that broke off.
func (w *statusWriter) end(span trace.Span) {
	if w.status == 0 && w.returned {
		w.status = http.StatusOK
	}
	if w.status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", w.status))
	}
	if w.status >= 500 || !w.returned {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
