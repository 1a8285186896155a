package pipeline

// Verdict is the answer to a request. The zero value admits.
type Verdict uint8

// The verdicts.
const (
	Admit   Verdict = iota
	Reject          // the request is refused, for the decision's reason
	Abandon         // the client left before there was an answer
)

// Reason says why a request was refused. The set is closed, and its words are
// the same in headers, bodies, logs and metrics. The zero value is no reason.
type Reason uint8

// The reasons.
const (
	None             Reason = iota
	RateLimited             // the caller sent more than its rate
	CostTooLarge            // the cost is above what the limit can ever grant
	TooManyInFlight         // the caller has too many requests in flight
	FleetShed               // the fleet has no room for this class
	WorkerShed              // this worker has no room for this class
	QueueTimeout            // no room came free while the request waited
	OperatorShed            // an operator sheds this traffic
	CallerBlocked           // an operator blocked this caller
	StoreUnavailable        // a stage could not decide, and its fault policy is closed

	Reasons // the number of reasons, None included
)

var reasons = [Reasons]string{
	"", "rate-limited", "cost-too-large", "too-many-in-flight", "fleet-shed", "worker-shed",
	"queue-timeout", "operator-shed", "caller-blocked", "store-unavailable",
}

// String is the reason's word, or "" for None.
func (r Reason) String() string {
	if r >= Reasons {
		return "unknown"
	}
	return reasons[r]
}

// Permit is a word that a stage gives itself when it takes, and reads when it
// releases. What it means is the stage's own business.
type Permit uint64

// Decision is a stage's answer, and the pipeline's. The zero value admits.
type Decision struct {
	Permit  Permit // what a Taker wants back at its release
	Verdict Verdict
	Reason  Reason
	Entry   uint8 // index in the plan of the entry that refused; set by the pipeline
}

// Refuse is the decision to reject for a reason.
func Refuse(r Reason) Decision { return Decision{Verdict: Reject, Reason: r} }

// Outcome is how an admitted request ended, as far as a controller should
// learn from it. The zero value is a good sample.
type Outcome uint8

// The outcomes.
const (
	Completed Outcome = iota // a good sample
	Dropped                  // an overload signal: a timeout, a refusal further on
	Ignored                  // nothing to learn: a stream, a client that left
	NotRun                   // the work did not begin: slots and tokens go back
)

// Result is how an admitted request ended.
type Result struct {
	Outcome Outcome
	Cost    int64 // what it cost in the end, for limits that charge afterwards; 0 leaves the charge as it is
	At      int64 // when it ended, by Pipeline.Now; the pipeline reads the clock, once for all that it gives back, where this is 0
}
