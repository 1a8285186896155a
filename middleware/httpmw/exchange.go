package httpmw

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// exchange is an admitted request and its answer: the state behind the context
// and the ResponseWriter that the handler gets. It is not pooled, so what a
// handler's goroutines do with those two after its end concerns nobody else.
type exchange struct {
	middleware *Middleware
	settings   *settings
	incoming   *http.Request
	writer     http.ResponseWriter // of the server
	ending     atomic.Pointer[ending]

	// What travels on is kept apart: it is read after the end, too.
	class    priority.Class
	deadline int64

	request atomic.Pointer[pipeline.Request] // nil after the release
	parts   atomic.Int32                     // of the work that are not done; the last one releases
	outcome atomic.Uint32                    // the worst so far
	cost    atomic.Int64                     // in the end, in tokens; 0 is as it was charged
	refused atomic.Bool                      // the answer is a refusal of ours, and the handler's goes nowhere
	tunnel  tunnel

	// Guarded by what guards a ResponseWriter: one goroutine at a time.
	begun  bool // the header is out of the handler's hands
	asked  bool // the handler asked for the header
	status int

	// What the handler and the header get of us lies here, so that all of an
	// exchange is one allocation.
	outgoing http.Request
	lines    [mostFields]string
}

// ErrStreamRefused is what the handler of a stream gets that was refused a
// place among the long-lived requests. The client has its answer then.
var ErrStreamRefused = errors.New("httpmw: no place for another stream")

func newExchange(m *Middleware, s *settings, q *pipeline.Request, w http.ResponseWriter, r *http.Request) *exchange {
	e := &exchange{middleware: m, settings: s, incoming: r, writer: w, class: q.Class, deadline: q.Deadline}
	e.request.Store(q)
	e.parts.Store(1)
	e.outgoing = *r.WithContext(requestContext{e}) // whose copy stays on the stack
	return e
}

// end is the handler's return, or its panic.
func (e *exchange) end(returned bool) {
	defer e.leave()
	switch err := e.incoming.Context().Err(); {
	case !returned:
		e.note(pipeline.Ignored)
		e.tunnel.abort(e)
	case errors.Is(err, context.DeadlineExceeded):
		e.note(pipeline.Dropped)
	case err != nil:
		e.note(pipeline.Ignored)
	}
	if returned && !e.begun {
		e.begin(http.StatusOK)
	}
	if e.status == http.StatusServiceUnavailable || e.status == http.StatusGatewayTimeout {
		e.note(pipeline.Dropped)
	}
}

// note keeps the outcome from which a controller should learn least.
func (e *exchange) note(o pipeline.Outcome) {
	for {
		was := e.outcome.Load()
		if uint32(o) <= was || e.outcome.CompareAndSwap(was, uint32(o)) {
			return
		}
	}
}

// enter keeps the request from being released until leave, unless it has been.
func (e *exchange) enter() bool {
	for {
		n := e.parts.Load()
		if n == 0 {
			return false
		}
		if e.parts.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave releases the request when nobody is left in it.
func (e *exchange) leave() {
	if e.parts.Add(-1) > 0 {
		return
	}
	q := e.request.Swap(nil)
	if in := e.ending.Load(); in != nil {
		in.cancel()
	}
	e.middleware.pipeline.Release(q, pipeline.Result{Outcome: pipeline.Outcome(e.outcome.Load()), Cost: e.cost.Load()})
	recycle(q)
}

// begin is called once, before the header goes out. It reports whether the
// answer is still the handler's. It leaves the header alone if the handler has
// done so and there is nothing to tell: net/http copies one that was asked for.
func (e *exchange) begin(status int) bool {
	if status == http.StatusSwitchingProtocols || e.asked && streams(e.writer.Header()) {
		if e.detach().Verdict != pipeline.Admit {
			return false
		}
	}
	e.begun, e.status = true, status
	if name := e.settings.CostHeader; name != "" && e.asked {
		e.takeCost(e.writer.Header(), name)
	}
	if redirect := status >= 300 && status < 400; !redirect && e.settings.Fields != NoFields {
		e.tellLimit()
	}
	return true
}

// streams reports whether an answer is a stream of events.
func streams(h http.Header) bool {
	const events = "text/event-stream"
	kind := h["Content-Type"]
	return len(kind) > 0 && len(kind[0]) >= len(events) && strings.EqualFold(kind[0][:len(events)], events)
}

// takeCost keeps the cost that the handler reports from the client.
func (e *exchange) takeCost(h http.Header, name string) {
	text := h[name]
	if len(text) == 0 {
		return
	}
	delete(h, name)
	if cost, _ := strconv.ParseInt(text[0], 10, 64); cost > 0 { // the most that there is, if it is more
		e.cost.Store(cost)
	}
}

// tellLimit tells the client the limit on its rate that has the least left.
func (e *exchange) tellLimit() {
	q := e.request.Load()
	if q == nil || q.Detail.Limit == nil || q.Detail.Limit.Kind != store.Tokens {
		return
	}
	out := drafts.Get().(*draft)
	defer drafts.Put(out)
	out.reset()
	h := e.writer.Header()
	e.settings.Fields.add(out, h, q.Detail.Limit, q.Detail.Remaining, q.Detail.ResetAfter)
	if out.n > 0 {
		out.writeTo(h, 0, e.lines[:])
	}
}
