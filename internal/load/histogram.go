package load

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in buckets that are at most 1/32 wide of what
// they hold: a quantile is at most 3 % above the true one. It holds 0 to an
// hour; longer ones count as an hour. The zero value is empty.
type Histogram struct {
	counts [buckets]uint32
	n      int
}

const (
	fine    = 5 // bits of precision below the leading one
	longest = time.Hour / time.Microsecond
	buckets = (32-fine)<<fine + 1<<fine
)

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucket(d)]++
	h.n++
}

// Merge adds what another histogram counted.
func (h *Histogram) Merge(other *Histogram) {
	h.n += other.n
	for i, count := range other.counts {
		h.counts[i] += count
	}
}

// Count is how many durations were added.
func (h *Histogram) Count() int { return h.n }

// Quantile is the shortest duration that at least a share q (0 … 1) of those
// added do not exceed, or 0 when there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := max(int(math.Ceil(q*float64(h.n))), 1)
	for i, count := range h.counts {
		if rank -= int(count); rank <= 0 {
			return upper(i)
		}
	}
	return 0
}

// bucket is the index of a duration: whole microseconds up to 64, then 32
// buckets to each doubling.
func bucket(d time.Duration) int {
	us := uint64(min(max(d/time.Microsecond, 0), longest))
	shift := max(bits.Len64(us)-fine-1, 0)
	return shift<<fine + int(us>>shift)
}

// upper is the longest duration of a bucket.
func upper(i int) time.Duration {
	shift := max(i>>fine-1, 0)
	mantissa := i - shift<<fine
	return time.Duration((mantissa+1)<<shift-1) * time.Microsecond
}
