package workershed

import "time"

// limiter is the state of the total limit. Its zero value is not reduced.
type limiter struct {
	reduced int // the limit, or 0 while it is the configured one
	calm    int // windows since the last sign of pressure
	pause   int // windows in which time-outs do not cut again
	ended   float64
	dropped float64 // both faded
}

// pressure is what one window, a tenth of a second, tells about the worker.
type pressure struct {
	delay   time.Duration // p90 of how long a goroutine was ready before it ran
	busy    float64       // mean number of requests in flight
	ended   int64
	dropped int64 // of those, time-outs and the like
}

// The limit falls fast and rises slowly, so that it settles below the point
// where the worker is in trouble.
const (
	slowRunQueue = 10 * time.Millisecond // above it there is more work than CPU
	calmRunQueue = 5 * time.Millisecond
	cut          = 0.85

	// Time-outs cut when they are a tenth of what ends, over a second or two,
	// and then at most once a second: a cut takes a while to show.
	dropFade   = 0.9
	dropShare  = 0.1
	leastDrops = 3
	dropPause  = 10

	// Where most of what ends are time-outs, the limit is far too high: a pool
	// of which little is used in time would need ten cuts of the other kind.
	mostDrop = 0.5
	deepCut  = 0.6

	// A limit that is not used tells nothing about itself, so calm alone has
	// to raise it, or one bad spell would refuse the next burst.
	calmWindows = 10
	calmStep    = 20 // a twentieth of the maximum for each second of calm
)

// limit is the limit under a maximum.
func (l limiter) limit(maximum int) int {
	if l.reduced == 0 {
		return maximum
	}
	return min(l.reduced, maximum)
}

// next is the limiter after one more window, and the signal that moved it.
func (l limiter) next(p pressure, floor, maximum int) (limiter, Signal) {
	l.ended = l.ended*dropFade + float64(p.ended)
	l.dropped = l.dropped*dropFade + float64(p.dropped)
	l.pause = max(0, l.pause-1)
	limit := l.limit(maximum)
	inUse := p.busy > float64(limit)/2
	timeOuts := l.dropped >= leastDrops && l.dropped >= dropShare*l.ended
	switch {
	case p.delay > slowRunQueue && inUse:
		return l.to(int(float64(limit)*cut), floor, maximum), RunQueue
	case timeOuts && inUse && l.pause == 0 && p.dropped > 0: // what is over is no reason to cut once more
		l.pause = dropPause
		by := cut
		if l.dropped > mostDrop*l.ended {
			by = deepCut
		}
		return l.to(int(float64(limit)*by), floor, maximum), TimeOuts
	case p.delay >= calmRunQueue || timeOuts: // also where the limit is not what lets in too much
		l.calm = 0
		return l, NoSignal
	case inUse:
		return l.to(limit+1, floor, maximum), InUse
	}
	if l.calm++; l.calm < calmWindows {
		return l, NoSignal
	}
	return l.to(limit+(maximum+calmStep-1)/calmStep, floor, maximum), Calm
}

func (l limiter) to(limit, floor, maximum int) limiter {
	l.calm = 0
	l.reduced = max(limit, floor)
	if l.reduced >= maximum {
		l.reduced = 0
	}
	return l
}
