package telemetry

import (
	"sync/atomic"
)

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

// classic is the counts of the classic buckets, the one behind the last bound
// included; not cumulative.
func (r *reading) classic(l *ladder) []uint64 {
	counts, n := make([]uint64, 0, classics+1), uint64(0)
	for i, count := range r.slots[:bounds] {
		n += count
		if l.classic[i] {
			counts = append(counts, n)
			n = 0
		}
	}
	return append(counts, n+r.slots[beyond])
}

// native is the counts of the native buckets that are not empty, by index, and
// of the zero bucket. What is longer than the last bound is in the bucket after
// the last, as a classic histogram says no more of it either.
func (r *reading) native(l *ladder) (zero uint64, buckets map[int]int64) {
	buckets = map[int]int64{}
	n, last, began := uint64(0), int32(0), false
	for i, count := range r.slots[:bounds] {
		n += count
		switch index := l.native[i]; {
		case index == none:
			continue
		case !began:
			zero, began = n, true
		case n > 0:
			buckets[int(index)] = int64(n)
		}
		n, last = 0, l.native[i]
	}
	if n += r.slots[beyond]; n > 0 {
		buckets[int(last)+1] = int64(n)
	}
	return zero, buckets
}
