package workershed

import (
	"math"
	"runtime/metrics"
	"time"
)

// runQueue reads how many goroutines are ready, and how long they were before
// they ran. The runtime counts the latter since the process began; the
// difference of two readings is what happened in between. After the first
// reading it does not allocate. Not safe for concurrent use.
type runQueue struct {
	sample [2]metrics.Sample
	before []uint64
}

func newRunQueue() *runQueue {
	return &runQueue{sample: [2]metrics.Sample{{Name: "/sched/latencies:seconds"}, {Name: "/sched/goroutines/runnable:goroutines"}}}
}

// read is the backlog since the last call. What the runtime does not tell is 0.
func (q *runQueue) read() (b backlog) {
	metrics.Read(q.sample[:])
	if q.sample[1].Value.Kind() == metrics.KindUint64 {
		b.runnable = int(q.sample[1].Value.Uint64())
	}
	b.delay = q.p90()
	return b
}

// p90 is the delay that nine of ten goroutines did not exceed since the last
// reading; 0 in the first.
func (q *runQueue) p90() time.Duration {
	if q.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := q.sample[0].Value.Float64Histogram()
	if len(q.before) != len(h.Counts) {
		q.before = append([]uint64(nil), h.Counts...)
		return 0
	}
	delay := quantileSince(0.9, q.before, h)
	copy(q.before, h.Counts)
	return delay
}

// quantileSince is the upper edge of the bucket in which the quantile of the
// counts since before lies. An edge at infinity stands for the lower one.
func quantileSince(quantile float64, before []uint64, h *metrics.Float64Histogram) time.Duration {
	total := uint64(0)
	for i, n := range h.Counts {
		total += n - before[i]
	}
	if total == 0 {
		return 0
	}
	left := uint64(math.Ceil(quantile * float64(total)))
	for i, n := range h.Counts {
		if n -= before[i]; n < left {
			left -= n
			continue
		}
		edge := h.Buckets[i+1]
		if math.IsInf(edge, 1) {
			edge = h.Buckets[i]
		}
		return time.Duration(edge * float64(time.Second))
	}
	return 0
}
