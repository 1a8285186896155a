package workershed

import "time"

// strain drops cohorts like the level of the slow layer does, in the same
// units, but within tenths of a second. It is for the overload that the limit
// cannot see: handlers that only burn CPU run to their end as soon as they are
// admitted, so hardly any is in flight, and what waits does so in the Go
// scheduler, before anybody can decide on it.
type strain struct {
	value float64
	calm  int // windows in a row in which nobody waited for a processor
}

// Strain grows by strainStep in each window for each slowRunQueue of delay
// above the first. It fades the faster the longer it is calm and the shorter the delay, so that it
// keeps close to what the processors can just do, and yet is gone in a second.
const (
	strainStep     = 0.1
	mostStrainStep = 1.0
	strainFade     = 0.1 // for each window in a row that was calm
	mostCalm       = 5   // of which so many count
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
	if b.delay >= calmRunQueue {
		s.calm = 0
	} else {
		s.calm++
		idle := 1 - b.delay.Seconds()/calmRunQueue.Seconds()
		s.value = max(0, s.value-strainFade*idle*float64(min(s.calm, mostCalm)))
	}
	if limited {
		return s
	}
	return s.grow(b, processors, slowRunQueue, strainStep)
}

// glanced is the strain after a glance. It looks at a shorter time, in which a
// burst shows as a delay too, so that only a long one counts, and less of it.
func (s strain) glanced(b backlog, processors int) strain {
	return s.grow(b, processors, 2*slowRunQueue, strainStep/2)
}

func (s strain) grow(b backlog, processors int, least time.Duration, step float64) strain {
	if b.delay > least && b.runnable > ownBacklog*processors {
		over := (b.delay - slowRunQueue).Seconds() / slowRunQueue.Seconds()
		s.value = min(maxLevel, s.value+min(mostStrainStep, step*over))
		s.calm = 0
	}
	return s
}
