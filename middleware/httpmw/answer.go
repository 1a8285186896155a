package httpmw

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// refused is a refusal, as far as clients may know of it.
type refused struct {
	kind   string // of the stage
	reason pipeline.Reason
	class  priority.Class
	detail pipeline.Detail
	id     store.ID // zero when the request has none
	late   float64  // the part of the wait that is added to it, below a tenth
}

func (s *settings) refuse(w http.ResponseWriter, r *http.Request, q *pipeline.Request, d pipeline.Decision) {
	s.answer(w, r, &refused{
		kind: q.Entry(d).Kind, reason: d.Reason, class: q.Class, detail: q.Detail, id: q.ID(), late: lateness(q.Detail.RetryAfter),
	})
}

// mostLate is what is added to a long wait at most, for the end of a quota's
// month say: it spreads who waits for it well enough.
const mostLate = 5 * time.Minute

// lateness draws the part of a wait that is added to it.
func lateness(wait time.Duration) float64 {
	late := rand.Float64() / 10
	if wait > 10*mostLate {
		late *= float64(10*mostLate) / float64(wait)
	}
	return late
}

// answer writes a refusal. It reads nothing of the body; of a connection that
// has more of it to come than is worth reading it lets go.
func (s *settings) answer(w http.ResponseWriter, r *http.Request, a *refused) {
	out := drafts.Get().(*draft)
	defer drafts.Put(out)
	out.reset()
	rule := &refusals[line(a.reason)]
	status := rule.Status
	if own, ok := s.Status[a.kind]; ok {
		status = own
	}
	wait, known := a.wait(rule.Hint)

	h := w.Header()
	out.add("Content-Type", append(out.text, "application/problem+json"...))
	out.add("Cache-Control", append(out.text, "no-store"...))
	out.add("Plimsoll-Decision", a.appendDecision(out.text))
	if known {
		out.add("Retry-After", strconv.AppendInt(out.text, a.jitter(seconds(wait)), 10))
	}
	if r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > maxDrained) {
		out.add("Connection", append(out.text, "close"...))
	}
	plain := out.n
	if l := a.detail.Limit; l != nil {
		s.Fields.add(out, h, l, a.detail.Remaining, max(a.detail.RetryAfter, 0))
	}
	out.writeTo(h, plain, make([]string, out.n))
	out.body = a.appendProblem(out.body, status, wait, known)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(out.body)
	}
}

// maxDrained is how much of a refused request's body, in bytes, net/http may
// read to keep the connection. It would read 256 KiB, and the answer would
// wait for it.
const maxDrained = 16 << 10

// wait is how long the client is asked to wait, if that is known.
func (a *refused) wait(hint bool) (time.Duration, bool) {
	switch wait := a.detail.RetryAfter; {
	case wait > 0:
		return wait, true
	case wait == 0 && hint:
		return time.Second, true
	}
	return 0, false
}

// seconds rounds up to whole seconds, 1 at least.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second != 0 {
		s++
	}
	return max(s, 1)
}

// jitter adds up to a tenth, so that those who were refused together do not
// come back together: the same part in every unit, so that the header and the
// body of an answer ask for the same.
func (a *refused) jitter(n int64) int64 {
	if n > math.MaxInt64/2 {
		return n
	}
	return n + int64(a.late*float64(n))
}

// appendDecision appends the Plimsoll-Decision field, a dictionary of RFC 9651.
func (a *refused) appendDecision(b []byte) []byte {
	b = append(b, "stage="...)
	b = appendToken(b, a.kind)
	b = append(b, ", reason="...)
	b = append(b, word(a.reason)...)
	if a.detail.Rule != "" {
		b = append(b, ", limit="...)
		b = appendString(b, a.detail.Rule)
	}
	b = append(b, ", class="...)
	b = append(b, a.class.String()...)
	if a.id != (store.ID{}) {
		b = append(b, `, id="`...)
		b = a.id.AppendTo(b)
		b = append(b, '"')
	}
	return b
}

// word is a reason as clients read it, also where a stage gave none.
func word(r pipeline.Reason) string {
	if r == pipeline.None || r >= pipeline.Reasons {
		return "unknown"
	}
	return r.String()
}

// appendProblem appends a problem of RFC 9457.
func (a *refused) appendProblem(b []byte, status int, wait time.Duration, known bool) []byte {
	b = append(b, problemStarts[line(a.reason)]...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"class":"`...)
	b = append(b, a.class.String()...)
	b = append(b, '"')
	if a.detail.Rule != "" {
		b = append(b, `,"violated-policies":[`...)
		b = appendJSON(b, a.detail.Rule)
		b = append(b, ']')
	}
	if known {
		b = append(b, `,"retry_after_ms":`...)
		ms := int64(wait / time.Millisecond)
		if wait%time.Millisecond != 0 {
			ms++
		}
		b = strconv.AppendInt(b, a.jitter(ms), 10)
	}
	if a.id != (store.ID{}) {
		b = append(b, `,"decision_id":"`...)
		b = a.id.AppendTo(b)
		b = append(b, '"')
	}
	return append(b, "}\n"...)
}

// problemStarts is what is the same in all problems of a reason.
var problemStarts = func() (starts [pipeline.Reasons]string) {
	for reason := range pipeline.Reasons {
		r := &refusals[reason]
		start := `{"type":` + strconv.Quote(r.Type) + `,"title":` + strconv.Quote(r.Title) + `,"detail":` + strconv.Quote(r.Detail)
		starts[reason] = start + `,"reason":` + strconv.Quote(word(reason)) + `,"status":`
	}
	return starts
}()

func appendJSON(b []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// draft is an answer in the making; pooled, so that making one costs the two
// allocations that header values need.
type draft struct {
	text []byte // the values of the header lines, one after the other
	body []byte
	keys [9]string
	ends [9]int
	n    int
}

var drafts = sync.Pool{New: func() any {
	return &draft{text: make([]byte, 0, 512), body: make([]byte, 0, 1024)}
}}

func (d *draft) reset() { d.text, d.body, d.n = d.text[:0], d.body[:0], 0 }

// add ends a header line, whose value was appended to d.text.
func (d *draft) add(key string, text []byte) {
	d.text, d.keys[d.n], d.ends[d.n] = text, key, len(text)
	d.n++
}

// writeTo sets the first lines, and appends the others to what is there. The
// values stay the header's.
func (d *draft) writeTo(h http.Header, set int, values []string) {
	text, from := string(d.text), 0
	for i, end := range d.ends[:d.n] {
		values[i] = text[from:end]
		from = end
		if i < set {
			h[d.keys[i]] = values[i : i+1 : i+1]
			continue
		}
		if there := h[d.keys[i]]; len(there) > 0 {
			h[d.keys[i]] = append(there[:len(there):len(there)], values[i])
		} else {
			h[d.keys[i]] = values[i : i+1 : i+1]
		}
	}
}
