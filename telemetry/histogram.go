package telemetry

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// bounds is the number of bounds of a histogram: seven decades in steps of
// one, two and five, and the end of the last.
const bounds = 7*3 + 1

// The slots behind those of the bounds.
const (
	beyond  = bounds     // longer than the last bound
	untimed = bounds + 1 // counted when there was no clock
	slots   = bounds + 2
)

// histogram counts durations by what they are at most.
type histogram struct {
	slots [slots]atomic.Uint64
	sum   atomic.Uint64 // nanoseconds
}

// observe adds one duration in nanoseconds; what is negative counts as 0.
func (h *histogram) observe(l *ladder, ns int64) {
	ns = max(ns, 0)
	h.slots[l.slot(ns)].Add(1)
	h.sum.Add(uint64(ns))
}

// count adds one whose duration is not known.
func (h *histogram) count() { h.slots[untimed].Add(1) }

// ladder is the bounds of a histogram, in nanoseconds.
type ladder struct {
	bounds [bounds]int64
	first  [65]uint8 // by length in bits: the first slot that a duration can belong to
}

var (
	decisionLadder = newLadder(time.Microsecond)
	requestLadder  = newLadder(100 * time.Microsecond)
)

func newLadder(lowest time.Duration) (l ladder) {
	decade := int64(lowest)
	for i := range l.bounds {
		l.bounds[i] = decade * [...]int64{1, 2, 5}[i%3]
		if i%3 == 2 {
			decade *= 10
		}
	}
	for length := range l.first {
		least := int64(1) << max(length-1, 0) // of that length, but for 0
		if length > 63 {
			least = 1<<63 - 1
		}
		for l.first[length] < bounds && l.bounds[l.first[length]] < least {
			l.first[length]++
		}
	}
	return l
}

// slot is where a duration is counted. Between two powers of two lie at most
// two bounds, so the walk is short.
func (l *ladder) slot(ns int64) int {
	i := int(l.first[bits.Len64(uint64(ns))])
	for i < bounds && ns > l.bounds[i] {
		i++
	}
	return i
}

// seconds is the bounds as exporters want them.
func (l *ladder) seconds() []float64 {
	list := make([]float64, bounds)
	for i, ns := range l.bounds {
		list[i] = float64(ns) / 1e9
	}
	return list
}

// reading is what histograms had counted when they were read.
type reading struct {
	slots [slots]uint64
	sum   uint64 // nanoseconds
}

func (r *reading) add(h *histogram) {
	r.sum += h.sum.Load()
	for i := range h.slots {
		r.slots[i] += h.slots[i].Load()
	}
}

// timed is the number of durations.
func (r *reading) timed() (n uint64) {
	for _, count := range r.slots[:untimed] {
		n += count
	}
	return n
}

// total is the number of all that was counted, timed or not.
func (r *reading) total() uint64 { return r.timed() + r.slots[untimed] }

func (r *reading) seconds() float64 { return float64(r.sum) / 1e9 }
