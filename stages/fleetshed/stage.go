package fleetshed

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Stage is the fleet usage load shedder: settings over a State. It is immutable
// and safe for concurrent use.
type Stage struct {
	config Config
	state  *State
	known  atomic.Pointer[caps]
}

// caps are what a room allows each class. They are worked out ahead, because
// each request asks for one twice, and the room seldom changes.
type caps struct {
	room float64
	of   [priority.Count]int64
}

var (
	_ pipeline.Taker    = (*Stage)(nil)
	_ pipeline.Detacher = (*Stage)(nil)
	_ pipeline.Ticker   = (*Stage)(nil)
)

// What a refusal says. Leases move once a heartbeat, so to ask again sooner
// than in a second is to ask the same lease.
const (
	rule       = "fleet"
	streamRule = "fleet-streams"
	retryAfter = time.Second
)

// New puts settings over a state; nil starts a fresh one. The error names every
// fault.
func New(c Config, state *State) (*Stage, error) {
	if state == nil {
		state = new(State)
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	return &Stage{config: c, state: state}, nil
}

// State is what the stage counts in.
func (s *Stage) State() *State { return s.state }

// Reserve is the share of capacity that is kept for critical traffic: what the
// fleet is to be told.
func (s *Stage) Reserve() float64 { return s.config.Reserve }

// Room is how many non-critical requests may be in flight here at a moment of
// the requests' clock: the lease, or what this worker's own capacity leaves
// beside the reserve. When neither is known, everything is admitted.
func (s *Stage) Room(now int64) (requests float64, known bool) {
	c := &s.config
	if c.Lease != nil {
		if room, known := c.Lease.Room(now); known {
			return room, true
		}
	}
	capacity := 0.0
	if c.Capacity != nil {
		capacity = c.Capacity()
	}
	return ownRoom(capacity, c.Declared, c.Reserve)
}

// capOf is how many non-critical requests may be in flight for one more of a
// class.
func (s *Stage) capOf(class int, now int64) int64 {
	room, known := s.Room(now)
	if !known {
		return most
	}
	if c := s.known.Load(); c != nil && c.room == room {
		return c.of[class]
	}
	return capOf(room, s.config.ClassCaps[class])
}

// prepare works out the caps of a moment's room.
func (s *Stage) prepare(now int64) {
	room, known := s.Room(now)
	if c := s.known.Load(); !known || c != nil && c.room == room {
		return
	}
	c := &caps{room: room}
	for class := range c.of {
		c.of[class] = capOf(room, s.config.ClassCaps[class])
	}
	s.known.Store(c)
}

// Look refuses what finds no room for its class.
func (s *Stage) Look(r *pipeline.Request) pipeline.Decision {
	class := r.Class.Index()
	if class == critical || counts(s.state.inFlight.Load()).total() < s.capOf(class, r.Now) {
		return pipeline.Decision{}
	}
	return s.refuse(r, class)
}

// Spare is the room that a request of a class has left, and how much there is
// of it in all.
func (s *Stage) Spare(r *pipeline.Request) (left, of int64) {
	class := r.Class.Index()
	if class == critical {
		return most, most
	}
	of = s.capOf(class, r.Now)
	return max(of-counts(s.state.inFlight.Load()).total(), 0), of
}

// Take counts the request. It refuses when others took the room since the look.
func (s *Stage) Take(_ context.Context, r *pipeline.Request) pipeline.Decision {
	class := r.Class.Index()
	if class == critical {
		s.state.critical.Add(1)
	} else if !s.state.take(class, s.capOf(class, r.Moment())) {
		return s.refuse(r, class)
	}
	s.state.admitted[class].Add(1)
	return pipeline.Decision{Permit: permitOf(class)}
}

func (s *Stage) refuse(r *pipeline.Request, class int) pipeline.Decision {
	if !r.Trial {
		s.state.refused[class].Add(1)
	}
	r.Detail = pipeline.Detail{Rule: rule, RetryAfter: retryAfter}
	return pipeline.Refuse(pipeline.FleetShed)
}

// Release uncounts the request, by the permit: its class may be another now.
func (s *Stage) Release(_ *pipeline.Request, p pipeline.Permit, _ pipeline.Result) {
	switch {
	case p == 0:
	case p&stream != 0:
		s.state.streams.Add(-1)
	default:
		s.state.release(classOf(p))
	}
}

// Detach moves the request to the streams, which do not count as room in
// flight.
func (s *Stage) Detach(r *pipeline.Request, p pipeline.Permit) pipeline.Decision {
	if p == 0 || p&stream != 0 {
		return pipeline.Decision{Permit: p}
	}
	class := classOf(p)
	limit := s.config.MaxStreams
	if limit == 0 || class == critical {
		limit = math.MaxInt64
	}
	if !s.state.openStream(limit) {
		r.Detail = pipeline.Detail{Rule: streamRule, RetryAfter: retryAfter}
		return pipeline.Refuse(pipeline.FleetShed)
	}
	s.state.release(class)
	return pipeline.Decision{Permit: p | stream}
}

// Tick looks at what is in flight, for the averages of the next heartbeat.
func (s *Stage) Tick(now int64) {
	s.state.sample()
	s.prepare(now)
}

// A permit is the class's index plus one, so that none is 0, and a mark once
// the request is a stream.
const stream pipeline.Permit = 1 << 8

func permitOf(class int) pipeline.Permit { return pipeline.Permit(class + 1) }

func classOf(p pipeline.Permit) int { return int(p&^stream) - 1 }
