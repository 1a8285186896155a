package insight

import (
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// fleets keeps what the fleet was like in each of the last seconds.
type fleets struct {
	mu   sync.Mutex
	ring [windowSeconds]fleetSecond
}

type fleetSecond struct {
	number             int64
	capacity           float64
	inFlight, demanded store.PerClass
}

// Fleet remembers what the fleet is like now: what a heartbeat brings.
func (r *Recorder) Fleet(v store.View) {
	number := r.now() / int64(time.Second)
	if number < 0 {
		return
	}
	r.fleets.mu.Lock()
	defer r.fleets.mu.Unlock()
	r.fleets.ring[number%windowSeconds] = fleetSecond{number, v.Capacity, v.InFlight, v.Demanded}
}

// ReserveQuestion is another reserve, or another capacity, of the fleet.
type ReserveQuestion struct {
	Share    float64 // kept for critical traffic, 0 … 1
	Capacity float64 // in requests in flight; 0 leaves what it was
}

// refused is the share of each class that would have been refused in each
// second, the least critical first, as far as the fleet is known then.
func (q *ReserveQuestion) refused(f *fleets) map[int64][priority.Count]float64 {
	seconds := map[int64][priority.Count]float64{}
	if q == nil {
		return seconds
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.ring {
		s := &f.ring[i]
		capacity := s.capacity
		if q.Capacity > 0 {
			capacity = q.Capacity
		}
		if s.number == 0 || capacity <= 0 {
			continue
		}
		critical := priority.Critical.Index()
		room := (1-q.Share)*capacity - s.inFlight[critical]
		var shares [priority.Count]float64
		for class := critical - 1; class >= 0; class-- {
			demand := max(s.demanded[class], s.inFlight[class])
			passed := min(max(room, 0), demand)
			if demand > 0 {
				shares[class] = 1 - passed/demand
			}
			room -= passed
		}
		seconds[s.number] = shares
	}
	return seconds
}
