package pipeline

import (
	"context"

	"github.com/plimsoll-go/plimsoll/store"
)

// Stage is one kind of protection. A stage in a plan is an immutable view on
// state that outlives it; all methods are called concurrently. A stage never
// knows its mode, and a panic in it is its entry's fault policy.
type Stage interface {
	// Look answers from memory whether the request would be refused now. It is
	// called once for each request, first of all. It holds nothing, waits for
	// nothing, and must not keep the request.
	Look(r *Request) Decision
}

// Quiet is a stage whose Look may have nothing to say, as it is configured.
type Quiet interface {
	Stage
	// Looks reports whether Look is to be called; asked once for each plan.
	Looks() bool
}

// Taker is a stage that holds something of this process while a request runs.
type Taker interface {
	Stage
	// Take takes a permit. Only the stage that is last in its plan may wait,
	// and not while r.NoWait. It returns Abandon when ctx ended.
	Take(ctx context.Context, r *Request) Decision
	// Release is called once for each Take that admitted, with the permit that
	// it gave, on every way out.
	Release(r *Request, p Permit, result Result)
}

// Waiter marks the Taker that may wait; a plan holds at most one, last.
type Waiter interface {
	Taker
	// Ask and Asked bracket the time in which a request asks a remote store,
	// so that a look can count it as if it were queued already.
	Ask(r *Request)
	Asked(r *Request)
}

// Sharer is a stage that needs shared state. It names its claims; the pipeline
// asks for those of all stages in one call, turns refusals into decisions, and
// answers from its memory of refusals where it can.
type Sharer interface {
	Stage
	// Claims appends the claims of a request, cost and owner filled in. It is
	// called after a Look that admits, of this stage or of all. No claims means
	// that it admits.
	Claims(r *Request, claims []store.Claim) []store.Claim
}

// Detacher is a stage that counts long-lived requests, such as streams, apart.
type Detacher interface {
	Stage
	// Detach moves a request from the short-lived to the long-lived gauge, at
	// most once. The permit is the one that Take gave, or 0; the permit that is
	// returned replaces it. A refusal leaves everything as it was.
	Detach(r *Request, p Permit) Decision
}

// Learner is a stage that learns from how requests end.
type Learner interface {
	Stage
	// Learns reports whether Learn is to be called; asked once for each plan.
	Learns() bool
	// Learn is called once for each admitted request that ran.
	Learn(r *Request, result Result)
}

// Ticker is a stage whose live state adapts in the background.
type Ticker interface {
	Stage
	// Tick is called about every 100ms by Pipeline.Run, from one goroutine.
	Tick(now int64)
}

// Observer is told what the pipeline does. All methods are called on the
// request path, concurrently, and must neither block nor keep the request.
type Observer interface {
	// Decided is called once for each request.
	Decided(r *Request, d Decision)
	// Shadowed is called when an entry in shadow would have refused; the
	// request goes on. At most once for each request.
	Shadowed(r *Request, d Decision)
	// Released is called once for each admitted request.
	Released(r *Request, result Result)
	// Fault is called when an entry could not decide and its policy was used:
	// it panicked, or the store did not answer. entry is -1 for faults outside
	// an entry. r is nil outside a request.
	Fault(r *Request, entry int, fault Fault)
}

// Fault is why an entry could not decide.
type Fault struct {
	Kind FaultKind
	Err  error // a panic's value and stack, or the store's error; nil while the store is known to be down
}

// FaultKind is a closed set, fit for a label.
type FaultKind uint8

// The faults.
const (
	StoreFault  FaultKind = iota // the store did not answer in time, or erred
	PanicFault                   // the stage panicked
	SwitchedOff                  // the entry panicked too often and is off until the next plan
)

// String is store, panic or switched-off.
func (k FaultKind) String() string { return [...]string{"store", "panic", "switched-off"}[k] }
