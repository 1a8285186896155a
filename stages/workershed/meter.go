package workershed

import (
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// meter measures what runs, by a few additions for each request. It is read
// once in a window, a tenth of a second, and keeps no list of requests.
//
// The busy time of a window is the sum of the ends minus the sum of the starts
// of what ran in it, all counted from the window's own start, plus one window
// for each request that still runs: exact, in any order of the events.
type meter struct {
	since   atomic.Int64 // the start of the window; 0 before the first
	area    atomic.Int64 // Σ ends − Σ starts
	other   atomic.Int64 // ended, and not to be learnt from
	dropped atomic.Int64
	refused atomic.Int64
	started [epochs]atomic.Int32 // in flight, by when they began
	service histogram
}

// The requests in flight are told apart by age to epochLength, over epochs of
// them; older ones fall among the younger and are counted by luck only.
const (
	epochShift  = 27
	epochLength = time.Duration(1 << epochShift) // 134ms
	epochs      = 256                            // 34s
)

func epochOf(t int64) uint64 { return uint64(t) >> epochShift % epochs }

// took notes a request that began.
func (m *meter) took(t int64) {
	m.area.Add(m.since.Load() - t)
	m.started[epochOf(t)].Add(1)
}

// ended notes a request that ended.
func (m *meter) ended(began, t int64, outcome pipeline.Outcome) {
	m.area.Add(t - m.since.Load())
	m.started[epochOf(began)].Add(-1)
	switch outcome {
	case pipeline.Completed:
		m.service.add(t - began)
	case pipeline.Dropped:
		m.service.add(t - began)
		m.dropped.Add(1)
	case pipeline.Ignored, pipeline.NotRun:
		m.other.Add(1)
	}
}

// reading is what happened in one window.
type reading struct {
	length  time.Duration
	busy    float64 // mean number of requests in flight
	ended   int64   // requests that ended, in whatever way
	dropped int64   // of those, the ones that say overload
	refused int64   // requests that were refused
	service counts  // how long those took that count as samples
}

// read ends a window. It reports false for the first, which has no start.
func (m *meter) read(now int64, inFlight int) (r reading, ok bool) {
	since := m.since.Swap(now)
	area := m.area.Swap(0)
	r.length = time.Duration(now - since)
	m.service.drain(&r.service)
	r.dropped, r.refused = m.dropped.Swap(0), m.refused.Swap(0)
	r.ended = m.other.Swap(0) + r.service.total
	if since == 0 || r.length <= 0 {
		return r, false
	}
	r.busy = max(0, float64(area)/float64(r.length)+float64(inFlight))
	return r, true
}

// olderThan is how many of the requests in flight began before an age.
func (m *meter) olderThan(age time.Duration, now int64) (n int) {
	young := int(min(age/epochLength+1, epochs-1))
	for back := young + 1; back < epochs; back++ {
		n += max(0, int(m.started[epochOf(now-int64(back)<<epochShift)].Load()))
	}
	return n
}
