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

// take claims the glance that is due for one request.
func (g *glances) take(now int64) bool {
	last := g.last.Load()
	return now-last >= int64(glanceEvery) && g.last.CompareAndSwap(last, now)
}

// glance lets strain grow if the processors are far behind. Where it is not to
// be, it is not tried again before the next one is due.
func (s *State) glance() {
	now := s.clock.now()
	if s.glances.backlog == nil || !s.glances.take(now) || !s.ticking.TryLock() {
		return
	}
	defer s.ticking.Unlock()
	ticked := s.meter.since.Load()
	if ticked == 0 || now-ticked > int64(tickless) {
		return
	}
	seen := s.glances.backlog()
	s.setStrain(s.strained.glanced(seen, s.processors()), seen.delay, now)
}
