package telemetry

import (
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// stripe is one of several copies of the counts by class. A request adds to
// one of them, so that processors seldom meet in a cache line; a reader sums.
type stripe struct {
	decisions [priority.Count][outcomes]histogram
	requests  [priority.Count][ends]histogram
	_         [64]byte // the next stripe's first line is its own
}

// stripeCount is a power of two: twice the processors, so that two of them
// meet in one stripe seldom, and no more than a scrape can sum.
func stripeCount() int {
	n := min(max(2*runtime.GOMAXPROCS(0), 2), 32)
	return 1 << bits.Len(uint(n-1))
}

// outcome is what became of a request at the gate.
type outcome uint8

const (
	admitted outcome = iota
	rejected
	abandoned
	outcomes
)

// String is the label's value.
func (o outcome) String() string { return [outcomes]string{"admitted", "rejected", "abandoned"}[o] }

// answer is what a remote store gave: one, or none.
type answer uint8

const (
	answered answer = iota
	unanswered
	answers
)

// String is the label's value.
func (a answer) String() string { return [answers]string{"answered", "failed"}[a] }

// waits counts what few requests do, and so needs no stripes.
type waits struct {
	store [priority.Count][answers]histogram
	delay [priority.Count][outcomes]histogram
	queue [priority.Count][outcomes]histogram
}

func outcomeOf(v pipeline.Verdict) outcome { return min(outcome(v), abandoned) }

// ends is the number of ways in which a request that was admitted ends.
const ends = pipeline.NotRun + 1

var endNames = [ends]string{
	pipeline.Completed: "completed", pipeline.Dropped: "dropped",
	pipeline.Ignored: "ignored", pipeline.NotRun: "not-run",
}

// modes is the number of modes in which an entry refuses.
const modes = pipeline.Shadow + 1

// faultKinds is the number of kinds of faults.
const faultKinds = pipeline.SwitchedOff + 1

// refusals counts what one entry refused, in one stripe. The last reason is
// for those that this package does not know.
type refusals [modes][priority.Count][pipeline.Reasons + 1]atomic.Uint64

// decided sums the decisions of one class and outcome.
func (t *Telemetry) decided(class int, o outcome) (sum reading) {
	for i := range t.stripes {
		sum.add(&t.stripes[i].decisions[class][o])
	}
	return sum
}

// ended sums the requests of one class that ended in one way.
func (t *Telemetry) ended(class int, end pipeline.Outcome) (sum reading) {
	for i := range t.stripes {
		sum.add(&t.stripes[i].requests[class][end])
	}
	return sum
}
