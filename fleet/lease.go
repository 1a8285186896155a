package fleet

import (
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// Lease is the fleet's last word to this worker.
type Lease struct {
	store.View
	Heard  int64 // when the report that was answered was made, by Config.Now; 0 when none was
	Until  int64 // when the lease ends: counted from the report, so before the store's end of it
	Missed int   // heartbeats without an answer since
	Err    error // of the last of those
}

// Lease returns the fleet's last word. Its Heard is 0 if there was none.
func (m *Member) Lease() Lease {
	if l := m.lease.Load(); l != nil {
		return *l
	}
	return Lease{}
}

// Room is how many non-critical requests this worker may have in flight at a
// moment of Config.Now: by its lease, or, once that has ended, by its own
// capacity. It is not known before the first answer, and when nobody knows a
// capacity. It is made for the path of requests: it takes no lock.
func (m *Member) Room(now int64) (requests float64, known bool) {
	l := m.lease.Load()
	if l == nil || l.Capacity == 0 {
		return 0, false
	}
	if now < l.Until {
		return l.View.Lease, true
	}
	terms := m.terms.Load()
	own := ownCapacity(m.config.Capacity(), terms.Declared, l.Live)
	if own == 0 {
		return 0, false
	}
	return glide(l.View.Lease, own, (1-terms.Reserve)*own, time.Duration(now-l.Until)), true
}

// ownCapacity is what a worker may take for its own when it hears nothing of
// the fleet: what it can do, and no more than its share of what was declared.
func ownCapacity(capacity, declared float64, live int) float64 {
	share := declared / float64(max(live, 1))
	switch {
	case share == 0:
		return capacity
	case capacity == 0:
		return share
	}
	return min(capacity, share)
}

// What a worker that goes by itself may change of its room in a second, as a
// share of its capacity. Down is faster, because too much hurts sooner than too
// little.
const (
	downPerSecond = 0.05
	upPerSecond   = 0.01
)

// glide is the room of a worker some time after its lease ended, on the way
// from the lease to the room of its own.
func glide(lease, capacity, room float64, since time.Duration) float64 {
	if lease > room {
		return max(room, lease-downPerSecond*capacity*since.Seconds())
	}
	return min(room, lease+upPerSecond*capacity*since.Seconds())
}
