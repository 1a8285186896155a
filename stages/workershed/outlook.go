package workershed

import (
	"sync/atomic"
	"time"
)

// outlook is what the worker knows of its own pace, for a guess at how long a
// place would take to come free.
type outlook struct {
	service atomic.Int64 // mean time that a request takes, ns; 0 while not known
	gap     atomic.Int64 // mean time between two ends, ns; 0 while not known
	hung    atomic.Int64 // requests in flight that are far older than others get
}

// wait is about how long it takes until need requests have ended. It errs on
// the short side: whoever is refused because of it would surely not have got a
// place.
func (o *outlook) wait(need, inFlight int) time.Duration {
	running := inFlight - int(o.hung.Load())
	return expectedWait(need, running, time.Duration(o.service.Load()), time.Duration(o.gap.Load()))
}

// expectedWait is the shorter of two guesses: at the pace of the last moments,
// which is too slow after a quiet time, and at the pace of those that run,
// which is too fast before it is known that they hang.
func expectedWait(need, running int, service, gap time.Duration) time.Duration {
	wait := product(need, gap)
	if running > 0 {
		wait = min(wait, product(need, service)/time.Duration(running))
	}
	return wait
}

// product is n·d within bounds that no worker comes near: a million requests,
// an hour each. A check for overflow would cost as much as the rest of a look.
func product(n int, d time.Duration) time.Duration {
	return time.Duration(min(n, 1_000_000)) * min(d, longestGap)
}

// pace learns the outlook from the readings of the meter.
type pace struct {
	outlook *outlook
	samples float64 // faded
	sum     float64 // ns, faded
	ends    float64 // a second, faded
	usual   fading  // learnt in good times only
	p99     time.Duration
}

const (
	paceFade   = 0.8   // a window: half of it is of the last 300ms
	usualFade  = 0.998 // a window: half of it is of the last 35s
	longestGap = time.Hour
)

// A request hangs when it is older than hungFactor times the p99 of good
// times, but at least leastHung and at most mostHung. A slot that it holds is
// not one that will come free. What is learnt in an incident must not become
// the measure of it, so only good times count.
const (
	hungFactor = 4
	leastHung  = time.Second
	mostHung   = epochLength * epochs / 2 // above it the ages are not told apart
)

// learn takes one reading in; good tells whether it is of a time to learn from
// what is usual.
func (p *pace) learn(r *reading, m *meter, now int64, good bool) {
	if good && r.service.total > 0 {
		p.usual.fade(usualFade, &r.service)
		p.p99 = p.usual.quantile(0.99)
	}
	p.samples = p.samples*paceFade + float64(r.service.total)
	p.sum = p.sum*paceFade + r.service.sum
	p.ends = p.ends*paceFade + (1-paceFade)*float64(r.ended)/r.length.Seconds()
	p.publish(m.olderThan(min(max(hungFactor*p.p99, leastHung), mostHung), now))
}

func (p *pace) publish(hung int) {
	gap := longestGap
	if p.ends > 1/longestGap.Seconds() {
		gap = time.Duration(float64(time.Second) / p.ends)
	}
	p.outlook.gap.Store(int64(gap))
	p.outlook.hung.Store(int64(hung))
	if p.samples > 1e-6 {
		p.outlook.service.Store(max(1, int64(p.sum/p.samples)))
	}
}
