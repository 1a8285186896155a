package workershed

import (
	"sync/atomic"
	"time"
)

// clock reads the pipeline's time where no request brings it along: while a
// request waits, and after it asked a store. It counts on the monotonic clock
// from a guess, and corrects the guess by the pipeline's ticks.
type clock struct {
	base   time.Time
	epoch  int64
	offset atomic.Int64
	synced bool
}

func newClock() clock {
	now := time.Now()
	return clock{base: now, epoch: now.UnixNano()}
}

func (c *clock) now() int64 { return c.epoch + int64(time.Since(c.base)) + c.offset.Load() }

// follow learns from the stamp of a tick. A stamp is never later than the
// moment at which it is read here, so the stamp that is ahead most is the one
// that was delayed least.
func (c *clock) follow(stamp int64) {
	ahead := stamp - c.now()
	if ahead > 0 || !c.synced {
		c.offset.Add(ahead)
		c.synced = true
	}
}
