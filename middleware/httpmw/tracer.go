package httpmw

import (
	"net/http"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Tracer ties decisions to the traces that requests belong to. Both methods are
// called once for each request that is not exempt, on its path, and must not
// keep what they are given. telemetry.Spans is one.
type Tracer interface {
	// Trace is the sampled trace of a request, or none. Called before the
	// decision.
	Trace(r *http.Request) pipeline.Trace
	// Decided notes the decision where the trace wants it. Called when it was
	// made, before the answer or the handler.
	Decided(r *http.Request, q *pipeline.Request, d pipeline.Decision)
}
