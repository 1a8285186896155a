package httpmw_test

import (
	"net/http"
	"testing"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// tracer takes note of what it is asked and told.
type tracer struct {
	trace   pipeline.Trace
	asked   int
	decided []pipeline.Verdict
}

func (t *tracer) Trace(*http.Request) pipeline.Trace {
	t.asked++
	return t.trace
}

func (t *tracer) Decided(_ *http.Request, q *pipeline.Request, d pipeline.Decision) {
	if q.Trace == t.trace {
		t.decided = append(t.decided, d.Verdict)
	}
}

// Each decision is told once, and the request knows its trace by then.
func TestATracerHearsOfEachDecision(t *testing.T) {
	for _, c := range []struct {
		stage pipeline.Stage
		want  pipeline.Verdict
	}{{granting(pipeline.Detail{}), pipeline.Admit}, {refusing(pipeline.WorkerShed, pipeline.Detail{}), pipeline.Reject}} {
		told := &tracer{trace: pipeline.Trace{ID: [16]byte{1}}}
		m := protect(t, httpmw.Config{Tracer: told}, one(t, nil, "x", c.stage))
		m.Wrap(http.HandlerFunc(nothing)).ServeHTTP(discard{http.Header{}}, newRequest("GET", "/"))
		if told.asked != 1 || len(told.decided) != 1 || told.decided[0] != c.want {
			t.Errorf("asked %d times, told %v, want %v", told.asked, told.decided, c.want)
		}
	}
}

// A trace goes through a service that has no SDK, unless the service set
// another one or asked for nothing to be carried.
func TestATraceTravelsOn(t *testing.T) {
	in := newRequest("GET", "/")
	const parent, state, baggage = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1", "user=alice"
	in.Header.Set("Traceparent", parent)
	in.Header.Set("Tracestate", state)
	in.Header.Set("Baggage", baggage)
	for _, c := range []struct {
		name    string
		carried []string
		own     map[string]string
		want    [3]string
	}{
		{"by itself", nil, nil, [3]string{parent, state, baggage}},
		{"nothing", []string{}, nil, [3]string{}},
		{"the trace alone", []string{"traceparent", "tracestate"}, nil, [3]string{parent, state, ""}},
		{"a trace of its own", nil, map[string]string{"Traceparent": "own"}, [3]string{"own", "", baggage}},
	} {
		within(t, travelling, in.Clone(t.Context()), func(in *http.Request) {
			s := &sent{}
			out, err := http.NewRequestWithContext(in.Context(), http.MethodGet, "http://next", nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range c.own {
				out.Header.Set(name, value)
			}
			if _, err := (&httpmw.Transport{Base: s, Carried: c.carried}).RoundTrip(out); err != nil {
				t.Fatal(err)
			}
			got := s.request.Header
			if have := [3]string{got.Get("Traceparent"), got.Get("Tracestate"), got.Get("Baggage")}; have != c.want {
				t.Errorf("%s: %q, want %q", c.name, have, c.want)
			}
			if len(out.Header) != len(c.own) {
				t.Errorf("%s: the caller's request was changed: %v", c.name, out.Header)
			}
		})
	}
}
