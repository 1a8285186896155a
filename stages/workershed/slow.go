package workershed

import (
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// level says how much the slow layer drops: one unit for each class, least
// important first. At 1.25 all of Low is dropped and a quarter of Normal's
// cohorts. The level moves by a clock of its own, whether requests come or
// not, and has no memory below 0: a quiet night does not delay it.
type level struct {
	value float64       // 0 … maxLevel
	above time.Duration // how long utilization has been high without a pause, while nothing was dropped
}

// maxLevel drops everything that the slow layer may drop: never Critical.
const maxLevel = priority.Count - 1

// ramp sets how the level moves.
type ramp struct {
	up, down time.Duration // for one class, at full and at no utilization
	hold     time.Duration // how long utilization must be high before anything is dropped
	window   time.Duration // over which utilization is taken, 8s at most
}

// Utilization above highUse raises the level, below lowUse lowers it; between
// them it stays, so that it settles.
const (
	highUse = 0.8
	lowUse  = 0.7
)

// longestStep bounds what one step may do after the process stood still: what
// was not observed is not evidence.
const longestStep = 2 * time.Second

// next is the level after another step at a utilization.
func (l level) next(use float64, step time.Duration, r *ramp) level {
	step = min(max(step, 0), longestStep)
	switch {
	case use > highUse:
		if l.value == 0 {
			if l.above += step; l.above < r.hold+step {
				return l
			}
		}
		l.value += unit((use-highUse)/(1-highUse)) * float64(step) / float64(r.up)
	case use < lowUse:
		l.above = 0
		l.value -= unit(1-use/lowUse) * float64(step) / float64(r.down)
	default:
		l.above = 0
	}
	l.value = min(max(l.value, 0), maxLevel)
	return l
}

// gone is how long it takes until a level is 0 if utilization stays as it is; 0
// when it does not sink.
func (l level) gone(use float64, r *ramp) time.Duration {
	pace := unit(1 - use/lowUse)
	if l.value <= 0 || pace <= 0 {
		return 0
	}
	return time.Duration(min(l.value*float64(r.down)/pace, float64(longestWait)))
}

// longestWait bounds what is told: beyond it nothing is foreseen.
const longestWait = 24 * time.Hour

// shed is the share of a class's cohorts that a level drops.
func shed(value float64, class int) float64 {
	if class >= maxLevel {
		return 0
	}
	return unit(value - float64(class))
}

// backIn is how long it takes at least until a level has sunk so far that a
// cohort of a class is let in again; down is how long it takes for one class.
func backIn(value float64, class int, cohort priority.Cohort, down time.Duration) time.Duration {
	above := value - float64(class) - float64(cohort)/priority.Cohorts
	return time.Duration(max(0, above) * float64(down))
}

// unit clamps to 0 … 1; what is not a number is 0.
func unit(x float64) float64 {
	if x > 0 {
		return min(x, 1)
	}
	return 0
}

// usage keeps what utilization is made of, second by second.
type usage struct {
	second [longestWindow]usedSecond
	at     int
}

const longestWindow = 8

// aSecond is the length from which on a second is over: the windows that it is
// made of are not exact.
const aSecond = 950 * time.Millisecond

// usedSecond is one of them, in request-seconds.
type usedSecond struct {
	busy, room float64
	refused    float64 // what would have run beside, had nothing been refused
	length     time.Duration
}

// add notes a part of the present second, and reports whether that is over.
func (u *usage) add(part usedSecond) (over bool) {
	s := &u.second[u.at]
	s.busy += part.busy
	s.room += part.room
	s.refused += part.refused
	s.length += part.length
	return s.length >= aSecond
}

// over ends the present second and returns the use of the room over a window,
// and the demand: what it would have been with nothing refused.
func (u *usage) over(window time.Duration) (use, demand float64, step time.Duration) {
	step = u.second[u.at].length
	var sum usedSecond
	for i := range longestWindow {
		s := &u.second[(u.at+longestWindow-i)%longestWindow]
		if sum.length >= window {
			break
		}
		sum.busy += s.busy
		sum.room += s.room
		sum.refused += s.refused
		sum.length += s.length
	}
	u.at = (u.at + 1) % longestWindow
	u.second[u.at] = usedSecond{}
	if sum.room <= 0 {
		return 0, 0, step
	}
	return sum.busy / sum.room, (sum.busy + sum.refused) / sum.room, step
}
