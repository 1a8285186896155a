package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Mode is what becomes of an entry's refusals. The zero value enforces them.
type Mode uint8

// The modes.
const (
	Enforce Mode = iota // a refusal refuses the request
	Shadow              // a refusal is counted, and the request goes on (dark launch)
	Off                 // the entry is not asked
)

var modes = [...]string{"enforce", "shadow", "off"}

// String is enforce, shadow or off.
func (m Mode) String() string { return modes[m] }

// ParseMode reads what String wrote.
func ParseMode(s string) (Mode, error) {
	for i, name := range modes {
		if name == s {
			return Mode(i), nil
		}
	}
	return Enforce, fmt.Errorf("pipeline: unknown mode %q, allowed: enforce, shadow, off", s)
}

// FaultPolicy is what an entry answers when it cannot decide. The zero value
// asks the embedded store at this worker's share of each limit.
type FaultPolicy uint8

// The policies.
const (
	Local  FaultPolicy = iota // the same claims on the embedded store, at this worker's share
	Open                      // admit
	Closed                    // refuse as store-unavailable
)

var policies = [...]string{"local", "open", "closed"}

// String is local, open or closed.
func (p FaultPolicy) String() string { return policies[p] }

// ParseFaultPolicy reads what String wrote.
func ParseFaultPolicy(s string) (FaultPolicy, error) {
	for i, name := range policies {
		if name == s {
			return FaultPolicy(i), nil
		}
	}
	return Local, fmt.Errorf("pipeline: unknown fault policy %q, allowed: local, open, closed", s)
}

// Entry is a stage in its place.
type Entry struct {
	Name    string // unique in the plan: a label, and a path of the admin API
	Kind    string // the stage's kind as decisions name it, such as ratelimit; defaults to Name
	Mode    Mode
	OnFault FaultPolicy
	Stage   Stage
}

// Plan is a list of entries. It is immutable once made.
type Plan struct {
	entries []entry
	waiting int    // index of the entry that may wait, or -1
	learn   []int  // entries that learn from how requests end
	shadow  uint32 // entries in shadow, by index
	looks   uint32 // entries whose Look is asked
	sharers uint32 // entries that claim something of the store
	takers  uint32 // entries that take something local
}

// entry is an Entry with what its stage can do, looked up once.
type entry struct {
	Entry
	taker    Taker
	waiter   Waiter
	sharer   Sharer
	detacher Detacher
	ticker   Ticker
	learner  Learner
	panics   atomic.Int32 // since the plan was made
}

// panicLimit is how often an entry may panic before it is switched off: few
// enough that a stage that cannot run does not cost a stack trace a request.
const panicLimit = 16

// NewPlan checks a list of entries. The error names every fault.
func NewPlan(entries ...Entry) (*Plan, error) {
	p := &Plan{waiting: -1, entries: make([]entry, len(entries))}
	var errs []error
	if len(entries) > maxEntries {
		errs = append(errs, fmt.Errorf("pipeline: a plan holds at most %d entries, got %d", maxEntries, len(entries)))
	}
	seen := map[string]bool{}
	for i, e := range entries {
		errs = append(errs, e.check(i, seen[e.Name]))
		seen[e.Name] = true
		p.entries[i].prepare(e)
	}
	errs = append(errs, p.findWaiter())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range p.entries {
		p.note(i)
		if l, ok := p.entries[i].Stage.(Learner); ok && l.Learns() {
			p.entries[i].learner = l
			p.learn = append(p.learn, i)
		}
	}
	return p, nil
}

// note enters an entry in the sets of those that are asked.
func (p *Plan) note(i int) {
	e := &p.entries[i]
	if e.Mode == Off {
		return
	}
	if q, ok := e.Stage.(Quiet); !ok || q.Looks() {
		p.looks |= 1 << i
	}
	if e.sharer != nil {
		p.sharers |= 1 << i
	}
	if e.taker != nil {
		p.takers |= 1 << i
	}
	if e.Mode == Shadow {
		p.shadow |= 1 << i
	}
}

func (e *Entry) check(i int, taken bool) error {
	switch {
	case e.Name == "":
		return fmt.Errorf("pipeline: entries[%d] needs a name", i)
	case taken:
		return fmt.Errorf("pipeline: entries[%d]: the name %q is taken", i, e.Name)
	case e.Stage == nil:
		return fmt.Errorf("pipeline: entries[%d] (%s) has no stage", i, e.Name)
	}
	return nil
}

// prepare looks up once what a stage can do.
func (e *entry) prepare(of Entry) {
	e.Entry = of
	if e.Kind == "" {
		e.Kind = e.Name
	}
	e.taker, _ = e.Stage.(Taker)
	e.waiter, _ = e.Stage.(Waiter)
	e.sharer, _ = e.Stage.(Sharer)
	e.detacher, _ = e.Stage.(Detacher)
	e.ticker, _ = e.Stage.(Ticker)
}

// findWaiter finds the entry that may wait. Nothing is taken after it, or that
// would be held meanwhile by requests that come to nothing.
func (p *Plan) findWaiter() error {
	var errs []error
	for i := range p.entries {
		e := &p.entries[i]
		if e.waiter != nil && p.waiting >= 0 {
			errs = append(errs, fmt.Errorf("pipeline: entries[%d] (%s) may wait, and so may %s; one entry may", i, e.Name, p.entries[p.waiting].Name))
		}
		if e.waiter != nil {
			p.waiting = i
		} else if e.taker != nil && p.waiting >= 0 {
			errs = append(errs, fmt.Errorf("pipeline: %s may wait and must come after %s, which would be held meanwhile", p.entries[p.waiting].Name, e.Name))
		}
	}
	return errors.Join(errs...)
}

// Len is the number of entries.
func (p *Plan) Len() int { return len(p.entries) }

// Entry returns the i-th entry.
func (p *Plan) Entry(i int) Entry { return p.entries[i].Entry }

// off reports whether an entry is not asked, by its mode or its panics.
func (e *entry) off() bool { return e.Mode == Off || e.panics.Load() >= panicLimit }

// refusesAll reports whether an entry was switched off that must not admit
// what it cannot decide.
func (e *entry) refusesAll() bool {
	return e.OnFault == Closed && e.Mode == Enforce && e.panics.Load() >= panicLimit
}
