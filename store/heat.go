package store

import (
	"sync/atomic"
	"time"
)

// heat counts how often keys are asked for, in a table of fixed size, to find
// those that are asked for often. It counts in spans of a tenth of a second.
// Keys that share a place wear each other's counts down, so one that is asked
// for more often than the others of its place is found; one that is missed goes
// on being asked for call by call. It allocates nothing and waits for nobody: a
// count that meets another is lost.
type heat [heatPlaces]atomic.Uint64 // 24 bits of the key, 24 of the span, and the count

const (
	heatBits   = 12
	heatPlaces = 1 << heatBits
	heatSpan   = int64(100 * time.Millisecond)

	heatCount = 1<<16 - 1
	heatWhen  = 1<<40 - 1 - heatCount
)

// asked counts an ask, and returns how many there were of this key in this
// span, and for how long the span has lasted.
func (h *heat) asked(owner Key, limit uint64, now int64) (count, since int64) {
	mixed := (owner.Lo ^ limit) * 0x9e3779b97f4a7c15
	place, key := &h[mixed>>(64-heatBits)], (owner.Hi^mixed)<<40
	when := uint64(now/heatSpan) << 16 & heatWhen
	before := place.Load()
	n := before & heatCount
	switch {
	case n == 0 || before&heatWhen != when:
		n = 1
		place.CompareAndSwap(before, key|when|n)
	case before>>40 != key>>40:
		n = 0
		place.CompareAndSwap(before, before-1)
	case n < heatCount:
		n++
		place.CompareAndSwap(before, before+1)
	}
	return int64(n), now % heatSpan
}
