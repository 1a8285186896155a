package admin

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Tally is an observer that counts decisions, by class, entry and reason, from
// its making on. The zero value is ready, and survives a change of plan:
// counts go by the names of entries.
type Tally struct {
	admitted, abandoned [priority.Count]atomic.Uint64
	outside             [faultKinds]atomic.Uint64 // faults of no entry

	entries atomic.Pointer[map[string]*entryTally] // replaced as a whole when a name comes new
	adding  sync.Mutex                             // one writer of entries at a time
}

var _ pipeline.Observer = (*Tally)(nil)

// entryTally is what one entry did.
type entryTally struct {
	rejected, shadowed [priority.Count][pipeline.Reasons]atomic.Uint64
	faults             [faultKinds]atomic.Uint64
}

const faultKinds = pipeline.SwitchedOff + 1

// Decided counts one request.
func (t *Tally) Decided(r *pipeline.Request, d pipeline.Decision) {
	class := r.Class.Index()
	switch d.Verdict {
	case pipeline.Admit:
		t.admitted[class].Add(1)
	case pipeline.Abandon:
		t.abandoned[class].Add(1)
	default:
		t.of(r.Entry(d).Name).rejected[class][min(d.Reason, pipeline.Reasons-1)].Add(1)
	}
}

// Shadowed counts one request that an entry in shadow would have refused.
func (t *Tally) Shadowed(r *pipeline.Request, d pipeline.Decision) {
	t.of(r.Entry(d).Name).shadowed[r.Class.Index()][min(d.Reason, pipeline.Reasons-1)].Add(1)
}

// Released counts nothing: what is in flight the pipeline knows itself.
func (t *Tally) Released(*pipeline.Request, pipeline.Result) {}

// Fault counts one fault.
func (t *Tally) Fault(r *pipeline.Request, entry int, f pipeline.Fault) {
	if r == nil || entry < 0 {
		t.outside[f.Kind].Add(1)
		return
	}
	t.of(r.Entry(pipeline.Decision{Entry: uint8(entry)}).Name).faults[f.Kind].Add(1)
}

// of is the tally of an entry. Names come out of plans, so they are few.
func (t *Tally) of(name string) *entryTally {
	if known := t.entries.Load(); known != nil {
		if e := (*known)[name]; e != nil {
			return e
		}
	}
	return t.add(name)
}

func (t *Tally) add(name string) *entryTally {
	t.adding.Lock()
	defer t.adding.Unlock()
	more := map[string]*entryTally{}
	if known := t.entries.Load(); known != nil {
		if e := (*known)[name]; e != nil {
			return e
		}
		maps.Copy(more, *known)
	}
	more[name] = &entryTally{}
	t.entries.Store(&more)
	return more[name]
}
