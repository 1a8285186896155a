package fleetshed

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// critical is the index of the class that this stage never refuses.
const critical = int(priority.Count - 1)

// firstStay is taken for the time that a request stays before any was admitted.
const firstStay = 100 * time.Millisecond

// State counts what is in flight in this worker. It outlives plans. The zero
// State is empty and ready. It is a fleet.Usage.
type State struct {
	inFlight atomic.Uint64 // counts
	critical atomic.Int64
	streams  atomic.Int64
	admitted [priority.Count]atomic.Uint64 // since ever
	_        [64]byte                      // the writes above are everybody's
	refused  [priority.Count]atomic.Uint64 // since ever

	mu   sync.Mutex
	beat beat
}

// beat is what was seen since the last report. Guarded by the State's mutex.
type beat struct {
	begun             int64 // by the clock of the reports
	samples           float64
	sum               store.PerClass // of the samples
	admitted, refused [priority.Count]uint64
	stay              store.PerClass // in nanoseconds
}

// InFlight is how many short-lived requests are in flight now, by class.
func (s *State) InFlight() (n store.PerClass) {
	c := counts(s.inFlight.Load())
	for class := range critical {
		n[class] = float64(c.of(class))
	}
	n[critical] = float64(s.critical.Load())
	return n
}

// Streams is how many long-lived requests are open.
func (s *State) Streams() int64 { return s.streams.Load() }

// Refused is how many requests were refused since the state was made, by class.
func (s *State) Refused() (n [priority.Count]uint64) {
	for class := range n {
		n[class] = s.refused[class].Load()
	}
	return n
}

// take counts one more non-critical request, unless there are limit already. It
// never counts one that it refuses, however briefly: others would be refused
// for it.
func (s *State) take(class int, limit int64) bool {
	for {
		now := counts(s.inFlight.Load())
		if now.total() >= limit {
			return false
		}
		if s.inFlight.CompareAndSwap(uint64(now), uint64(now+one(class))) {
			return true
		}
	}
}

func (s *State) release(class int) {
	if class == critical {
		s.critical.Add(-1)
		return
	}
	s.inFlight.Add(-uint64(one(class)))
}

// openStream counts one more long-lived request, unless there are limit
// already.
func (s *State) openStream(limit int64) bool {
	for {
		n := s.streams.Load()
		if n >= limit {
			return false
		}
		if s.streams.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// sample looks at what is in flight. An average of looks costs requests
// nothing; an integral would cost each two writes more.
func (s *State) sample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat.add(s.InFlight())
}

func (b *beat) add(n store.PerClass) {
	for class := range n {
		b.sum[class] += n[class]
	}
	b.samples++
}

// Usage returns the requests in flight, and those that would be if none had
// been refused, both averaged since the last call, and the number of those
// refused since. One goroutine calls it, at each heartbeat.
func (s *State) Usage(now int64) (inFlight, demanded, refused store.PerClass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.beat
	if b.samples == 0 {
		b.add(s.InFlight())
	}
	elapsed := 0.0
	if b.begun != 0 {
		elapsed = float64(now - b.begun)
	}
	for class := range inFlight {
		inFlight[class] = b.sum[class] / b.samples
		admitted := since(&b.admitted[class], s.admitted[class].Load())
		refused[class] = since(&b.refused[class], s.refused[class].Load())
		if b.stay[class] == 0 {
			b.stay[class] = float64(firstStay)
		}
		b.stay[class] = stay(inFlight[class], admitted, elapsed, b.stay[class])
		demanded[class] = demand(inFlight[class], refused[class], b.stay[class], elapsed)
	}
	b.begun, b.samples, b.sum = now, 0, store.PerClass{}
	return inFlight, demanded, refused
}

// since is how far a counter has come, and remembers where it is.
func since(last *uint64, now uint64) float64 {
	n := now - *last
	*last = now
	return float64(n)
}
