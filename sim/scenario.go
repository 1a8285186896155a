package sim

import (
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Scenario is what is to be played. Make one with Parse, Named or Random.
type Scenario struct {
	Name  string
	Story string // what it is about, for people
	Text  string // what it was read from, which reads back to the same

	setup   setup
	events  []event // in order of time
	expects []expectation
}

// Length is how long the scenario lasts, in virtual time.
func (s *Scenario) Length() time.Duration { return s.setup.length }

// setup is what does not change while a scenario is played.
type setup struct {
	length    time.Duration
	workers   int
	machine   machine
	limit     int           // of the worker's stage, in requests in flight
	deadline  time.Duration // of clients
	callers   int
	impatient float64 // share of the clients that leave after a few milliseconds
	mix       mix
	retries   retries
	trip      time.Duration // to the store and back
	rate      limit.Rate    // of each caller
	burst     int64
	hot       int   // asks a second of a worker for a caller from which it borrows tokens; 0 never
	slots     int64 // of each caller
	lease     time.Duration
	reserve   float64
	declared  float64 // the fleet's capacity in requests in flight; 0 is not declared
	ramp      string
	skew      time.Duration // clocks of the workers differ by up to so much
	drift     float64       // how much faster the store's clock is than the workers'
	balancer  time.Duration // until the balancer notices that a worker is gone, or back
}

// mix is the share of each class, by Class.Index.
type mix [priority.Count]float64

// retries are what clients do that got no good answer.
type retries struct {
	times int
	after time.Duration
}

// machine is what a worker runs on.
type machine struct {
	slots       int           // requests that are served at once; 0 is a matter of processors
	service     time.Duration // of a request in its slot
	exponential bool          // the service varies, with that mean
	processors  int
	pieces      int           // of CPU time, for each request
	piece       time.Duration // each
	apart       time.Duration // wait between two
}

// work is how long one slot or processor is busy with a request.
func (m *machine) work() time.Duration {
	if m.slots > 0 {
		return m.service
	}
	return time.Duration(m.pieces) * m.piece
}

// capacity is requests in a second.
func (m *machine) capacity() float64 {
	return float64(max(m.slots, m.processors)) / m.work().Seconds()
}

// capacity of the fleet as it was set up, in requests in a second.
func (s *setup) capacity() float64 { return float64(s.workers) * s.machine.capacity() }

func defaults() setup {
	return setup{
		workers: 1, machine: machine{slots: 20, service: 10 * time.Millisecond, processors: 2},
		deadline: 250 * time.Millisecond, callers: 1000, mix: mix{0.2, 0.4, 0.2, 0.2},
		trip: 300 * time.Microsecond, rate: limit.Per(1000, time.Second), slots: 100, lease: 10 * time.Second,
		reserve: 0.2, ramp: "stripe", balancer: time.Second,
	}
}

// event is something that happens at its time.
type event struct {
	at   time.Duration
	line string // as it was written
	act  func(*world)
}
