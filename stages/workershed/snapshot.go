package workershed

import (
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Snapshot is what a worker does now, for people. Its parts are read one after
// the other while requests go on, so they may differ by a few. Arrays are by
// Class.Index, least important first.
type Snapshot struct {
	Limit       int                 `json:"limit"` // room in flight now; MaxInFlight, unless it adapted
	MaxInFlight int                 `json:"max_in_flight"`
	Caps        [priority.Count]int `json:"caps"` // up to which each class is admitted at once
	InFlight    [priority.Count]int `json:"in_flight"`
	Queued      [priority.Count]int `json:"queued"`
	Asking      [priority.Count]int `json:"asking"` // the store, and about to want a slot
	Hung        int                 `json:"hung"`   // in flight, and far older than others get; a few may be missed
	Streams     int                 `json:"streams"`
	MaxStreams  int                 `json:"max_streams"`
	Exempt      int                 `json:"exempt"`
	ExemptMax   int                 `json:"exempt_max"`

	Level       float64                 `json:"level"` // of the slow layer: 0 drops nothing, 1 all of Low, 3 all but Critical
	Pinned      bool                    `json:"pinned"`
	GoneIn      time.Duration           `json:"gone_in_ns"`   // until the level is 0 if utilization stays as it is; 0 when it does not sink
	Strain      float64                 `json:"strain"`       // the same, because the processors are late
	Shed        [priority.Count]float64 `json:"shed"`         // share of the cohorts that are dropped
	Utilization float64                 `json:"utilization"`  // share of the limit that was in use, of the last seconds
	Demand      float64                 `json:"demand"`       // what utilization would be with nothing refused here
	RunQueue    time.Duration           `json:"run_queue_ns"` // p90 of how long goroutines were ready before they ran, in the last tick
	Runnable    int                     `json:"runnable"`     // goroutines that were ready at the last tick
	Service     time.Duration           `json:"service_ns"`   // mean time that requests take; 0 while not known
	UsualP99    time.Duration           `json:"usual_p99_ns"` // of the same, in good times

	RefusedByLevel [priority.Count]uint64 `json:"refused_by_level"` // since the state was made
	RefusedNoRoom  [priority.Count]uint64 `json:"refused_no_room"`
	TimedOut       [priority.Count]uint64 `json:"timed_out"` // in the queue

	Changes []Change `json:"changes"` // of the last hour, oldest first
}

// Snapshot reads the state.
func (s *State) Snapshot() Snapshot {
	word := s.slots.word.Load()
	snap := Snapshot{
		Hung:    int(s.outlook.hung.Load()),
		Streams: s.streams.value(), Exempt: s.exempt.value(),
		Service: time.Duration(s.outlook.service.Load()),
		Changes: s.history.since(s.clock.now() - int64(timelineSpan)),
	}
	s.addMeasured(&snap)
	if c := s.current.Load(); c != nil {
		snap.Limit, snap.MaxInFlight = s.limitUnder(c), c.maxInFlight
		snap.Caps = c.shares.all(snap.Limit)
		snap.MaxStreams, snap.ExemptMax = c.maxStreams, c.exemptMax
		if c.ramps && !snap.Pinned {
			snap.GoneIn = level{value: snap.Level}.gone(snap.Utilization, &c.ramp)
		}
	}
	for class := range priority.Count {
		snap.InFlight[class] = lane(word, class)
		snap.Queued[class] = int(s.queue.queued[class].Load())
		snap.Asking[class] = int(s.asking[class].Load())
		snap.Shed[class] = shed(max(snap.Level, snap.Strain), class)
		snap.RefusedByLevel[class] = s.refused.level[class].Load()
		snap.RefusedNoRoom[class] = s.refused.room[class].Load()
		snap.TimedOut[class] = s.refused.timeOut[class].Load()
	}
	return snap
}

func (s *State) addMeasured(snap *Snapshot) {
	s.ticking.Lock()
	defer s.ticking.Unlock()
	snap.Level, snap.Pinned = s.slow.value, s.pinned
	snap.Utilization, snap.Demand = s.measured.utilization, s.measured.demand
	snap.Strain, snap.UsualP99 = s.strained.value, s.pace.p99
	snap.RunQueue, snap.Runnable = s.measured.backlog.delay, s.measured.backlog.runnable
}
