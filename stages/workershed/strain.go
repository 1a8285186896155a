package workershed

import "time"

// strain drops cohorts like the level of the slow layer does, in the same
// units, but within tenths of a second. It is for the overload that the limit
// cannot see: handlers that only burn CPU run to their end as soon as they are
// admitted, so hardly any is in flight, and what waits does so in the Go
// scheduler, before anybody can decide on it.
type strain float64

// Strain grows by strainStep in each window for each slowRunQueue of delay, and
// fades by a part of itself in each calm one: in two seconds it is gone.
const (
	strainStep     = 0.1
	mostStrainStep = 1.0
	strainFade     = 0.15
	leastFade      = 0.05
)

// strainDown is about how long strain takes to let one class in again.
const strainDown = time.Second

// ownBacklog is how many goroutines for each processor have to be ready, for
// the delay to be of our own making. With fewer it is others that take the
// CPU, and to refuse what little comes would not help.
const ownBacklog = 4

// backlog is what the scheduler tells of one window.
type backlog struct {
	delay    time.Duration // p90 of how long a goroutine was ready before it ran
	runnable int           // goroutines that are ready now
}

// next is the strain after one more window; limited tells whether a lower
// limit would help.
func (s strain) next(b backlog, processors int, limited bool) strain {
	switch {
	case b.delay > slowRunQueue && b.runnable > ownBacklog*processors && !limited:
		s += strain(min(mostStrainStep, strainStep*b.delay.Seconds()/slowRunQueue.Seconds()))
	case b.delay < calmRunQueue:
		s -= max(leastFade, s*strainFade)
	}
	return min(max(s, 0), maxLevel)
}
