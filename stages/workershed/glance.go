package workershed

import (
	"sync/atomic"
	"time"
)

// glances are looks at the run queue between two ticks, by the requests that
// come. Ticks are a tenth of a second apart, and themselves late when the
// processors are: by then hundreds of requests may be ready to run, none of
// which can be answered in time. A glance costs its request a microsecond.
type glances struct {
	last    atomic.Int64   // when the last one was
	backlog func() backlog // since the last one
}

// glanceEvery is the least time between two glances.
const glanceEvery = 20 * time.Millisecond

// tickless is how long after the last tick nobody glances any more: what
// glances drop, ticks let in again.
const tickless = 2 * time.Second

func (g *glances) due(now int64) bool { return now-g.last.Load() >= int64(glanceEvery) }

// glance lets strain grow if the processors are far behind.
func (s *State) glance(c *settings) {
	if !c.adapts || s.glances.backlog == nil || !s.ticking.TryLock() {
		return
	}
	defer s.ticking.Unlock()
	now, ticked := s.clock.now(), s.meter.since.Load()
	if ticked == 0 || now-ticked > int64(tickless) || !s.glances.due(now) {
		return
	}
	s.glances.last.Store(now)
	seen := s.glances.backlog()
	s.setStrain(s.strained.glanced(seen, s.processors()), seen.delay, now)
}
