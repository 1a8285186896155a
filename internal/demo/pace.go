package demo

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// pace is how many times slower than usual everything runs: queries, the rates
// that follow from them, and the patience of clients. What happens is the same.
// A machine that is busy with other things could not carry the usual pace, and
// would show nothing but its own overload.
type pace int

const (
	usual   pace = 1
	slowest pace = 8
)

// What the demonstration costs, load, proxy and service together, and which
// share of the processors that are free it may take.
const (
	perRequest = 400 * time.Microsecond
	shareOfCPU = 0.5
)

// paceFor is the quickest pace that so many free processors carry.
func paceFor(free, multiple float64) pace {
	need := multiple * connections / query.Seconds() * perRequest.Seconds()
	p := usual
	for ; p < slowest && need/float64(p) > shareOfCPU*free; p *= 2 {
	}
	return p
}

func (p pace) query() time.Duration    { return query * time.Duration(p) }
func (p pace) deadline() time.Duration { return deadline * time.Duration(p) }

// pause is how long a processor may seem to stand still before it is taken to
// have worked for somebody else.
const pause = 200 * time.Microsecond

// freeProcessors measures how much of the processors this process gets when it
// asks for all of them.
func freeProcessors(during time.Duration) float64 {
	var ran atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(during)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() { ran.Add(int64(spin(end))) })
	}
	group.Wait()
	return float64(ran.Load()) / float64(during)
}

// spin works until a moment, and tells for how long it really did.
func spin(end time.Time) (ran time.Duration) {
	for last := time.Now(); last.Before(end); {
		now := time.Now()
		if gap := now.Sub(last); gap < pause {
			ran += gap
		}
		last = now
	}
	return ran
}
