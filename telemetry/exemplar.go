package telemetry

import (
	"encoding/hex"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// example is a request of a sampled trace, and what was measured of it.
type example struct {
	trace pipeline.Trace
	ns    int64
	at    int64 // nanoseconds since the epoch
}

// exemplars is the last example in each classic bucket of a histogram. The zero
// value has none.
type exemplars struct {
	mu   sync.Mutex
	last [classics + 1]example
}

// keep remembers a request. When another one is being kept, this one is not:
// nobody waits for an example.
func (e *exemplars) keep(l *ladder, r *pipeline.Request, ns, at int64) {
	ns = max(ns, 0)
	bucket := l.bucket[l.slot(ns)]
	if !e.mu.TryLock() {
		return
	}
	e.last[bucket] = example{r.Trace, ns, at}
	e.mu.Unlock()
}

// all is the examples by bucket; those without one have at 0.
func (e *exemplars) all() [classics + 1]example {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// examples is the exemplars of every histogram, by class and by its second label.
type examples struct {
	decisions [priority.Count][outcomes]exemplars
	requests  [priority.Count][ends]exemplars
	store     [priority.Count][answers]exemplars
	delay     [priority.Count][outcomes]exemplars
	queue     [priority.Count][outcomes]exemplars
}

func (e *example) seconds() float64 { return float64(e.ns) / 1e9 }

func (e *example) time() time.Time { return time.Unix(0, e.at) }

// ids is the trace and the span as text, in hexadecimal digits.
func (e *example) ids() (trace, span string) {
	return hex.EncodeToString(e.trace.ID[:]), hex.EncodeToString(e.trace.Span[:])
}
