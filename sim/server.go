package sim

import (
	"slices"
	"sync"
	"time"
)

// server is the machine of one worker: what it does with requests is reckoned
// ahead, first come first served.
type server struct {
	machine machine

	mu      sync.Mutex
	service time.Duration
	free    []time.Time // when each slot or processor is free, unordered
	waits   []wait      // for processors, since the backlog was last asked for by a tick
	glanced []wait      // the same, by a glance
}

// wait is one spell of being ready to run.
type wait struct{ ready, ran time.Time }

func newServer(m *machine) *server {
	return &server{machine: *m, service: m.service, free: make([]time.Time, max(m.slots, m.processors, 1))}
}

func (s *server) setService(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.service = d
}

// serve does the work of one request, and returns when it is done, or at the
// client's deadline, at which the handler gives up. It reports whether the work
// was done.
func (s *server) serve(deadline time.Time, dice *chance) (done bool) {
	if s.machine.slots == 0 {
		return s.compute(deadline)
	}
	end, done := s.book(deadline, dice)
	time.Sleep(time.Until(end))
	return done
}

// book finds the next slot that is free.
func (s *server) book(deadline time.Time, dice *chance) (end time.Time, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	service := s.service
	if s.machine.exponential {
		service = dice.exponential(service)
	}
	slot := s.soonest()
	start := latest(time.Now(), s.free[slot])
	if !start.Before(deadline) {
		return deadline, false
	}
	end = start.Add(service)
	if end.After(deadline) {
		end = deadline
	}
	s.free[slot] = end
	return end, end.Before(deadline)
}

// soonest is the slot or processor that is free first.
func (s *server) soonest() (first int) {
	for i := range s.free {
		if s.free[i].Before(s.free[first]) {
			first = i
		}
	}
	return first
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// compute burns CPU time in pieces, until the end or the client's deadline,
// which a handler that computes sees between two pieces only.
func (s *server) compute(deadline time.Time) (done bool) {
	for i := range s.machine.pieces {
		if i > 0 {
			time.Sleep(s.machine.apart)
		}
		if !time.Now().Before(deadline) {
			return false
		}
		s.run(s.machine.piece)
	}
	return time.Now().Before(deadline)
}

// run waits for a processor and uses it.
func (s *server) run(piece time.Duration) {
	s.mu.Lock()
	now := time.Now()
	i := s.soonest()
	start := latest(now, s.free[i])
	end := start.Add(piece)
	s.free[i] = end
	s.waits, s.glanced = append(s.waits, wait{now, start}), append(s.glanced, wait{now, start})
	s.mu.Unlock()
	time.Sleep(end.Sub(now))
}

// decisionTime is what net/http and the middleware take of a processor for a
// request, whatever becomes of it.
const decisionTime = 20 * time.Microsecond

// accept is the way of a request to the handler, on a processor.
func (s *server) accept() {
	if s.machine.slots == 0 {
		s.run(decisionTime)
	}
}

// backlog is what the scheduler would tell: the delay that nine of ten
// goroutines did not exceed before they ran, and how many are ready. It takes
// those that ran out of a list.
func (s *server) backlog(list *[]wait) (delay time.Duration, runnable int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var ran []time.Duration
	*list = slices.DeleteFunc(*list, func(w wait) bool {
		if w.ran.After(now) {
			return false
		}
		ran = append(ran, w.ran.Sub(w.ready))
		return true
	})
	if len(ran) == 0 {
		return 0, len(*list)
	}
	slices.Sort(ran)
	return ran[len(ran)*9/10], len(*list)
}
