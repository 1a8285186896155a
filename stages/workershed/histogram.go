package workershed

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets of an eighth of a power of two, from
// 1µs to 18 minutes: a mean or a quantile is right to 6 %.
type histogram struct{ bucket [buckets]atomic.Uint32 }

const (
	firstPower = 10 // 1024ns
	perPower   = 8
	buckets    = 30 * perPower
)

// bucketOf is the bucket of a duration; those outside fall into the ends.
func bucketOf(d int64) int {
	power := bits.Len64(uint64(max(d, 1<<firstPower))) - 1
	part := max(d, 1<<firstPower)>>(power-3) - perPower
	return min((power-firstPower)*perPower+int(part), buckets-1)
}

// middle is the duration that stands for a bucket.
func middle(bucket int) float64 {
	power := firstPower + bucket/perPower
	return (perPower + float64(bucket%perPower) + 0.5) * float64(int64(1)<<(power-3))
}

func (h *histogram) add(d int64) { h.bucket[bucketOf(d)].Add(1) }

// counts are the samples of one window.
type counts struct {
	bucket [buckets]uint32
	total  int64
	sum    float64 // nanoseconds
}

// drain moves the samples out.
func (h *histogram) drain(to *counts) {
	for i := range h.bucket {
		if h.bucket[i].Load() == 0 {
			continue
		}
		n := h.bucket[i].Swap(0)
		to.bucket[i] = n
		to.total += int64(n)
		to.sum += float64(n) * middle(i)
	}
}

// fading is a histogram that forgets: what is added weighs less with each fade.
type fading struct {
	bucket [buckets]float32
	total  float64
}

// fade lets the old samples count less, and adds new ones.
func (f *fading) fade(by float32, c *counts) {
	f.total = 0
	for i := range f.bucket {
		f.bucket[i] = f.bucket[i]*by + float32(c.bucket[i])
		f.total += float64(f.bucket[i])
	}
}

// quantile is the duration that a share q of the samples does not exceed, or 0
// without samples.
func (f *fading) quantile(q float64) time.Duration {
	if f.total < 1 {
		return 0
	}
	left := q * f.total
	for i := range f.bucket {
		if left -= float64(f.bucket[i]); left <= 0 {
			return time.Duration(middle(i))
		}
	}
	return time.Duration(middle(buckets - 1))
}
