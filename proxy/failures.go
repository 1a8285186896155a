package proxy

import (
	"iter"
	"log/slog"
	"sync/atomic"
	"time"
)

// quiet is how long a failure is not logged again after it was.
const quiet = 10 * time.Second

// failureCounts counts failures, and logs the first of each kind in a while:
// an upstream that is down, or clients that leave, must not fill a disk.
type failureCounts struct {
	log    *slog.Logger
	counts [failureCount]atomic.Uint64
	logged [failureCount]atomic.Int64 // when last, Unix nanoseconds
}

// Failures yields how often each failure has happened.
func (p *Proxy) Failures() iter.Seq2[Failure, uint64] {
	return func(yield func(Failure, uint64) bool) {
		for f := NoFailure + 1; int(f) < failureCount; f++ {
			if !yield(f, p.failures.counts[f].Load()) {
				return
			}
		}
	}
}

// add counts a failure.
func (c *failureCounts) add(f Failure, err error) {
	total := c.counts[f].Add(1)
	if c.log == nil || f == ClientGone {
		return
	}
	now, last := time.Now().UnixNano(), c.logged[f].Load()
	if now-last < int64(quiet) || !c.logged[f].CompareAndSwap(last, now) {
		return
	}
	c.log.Warn("forwarding failed", "failure", f.String(), "total", total, "error", err)
}
