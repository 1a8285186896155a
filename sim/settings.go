package sim

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// settings are the words of the setup.
var settings = map[string]func(*setup, words) error{
	"length":  func(s *setup, w words) error { return w.scan("D", &s.length) },
	"workers": func(s *setup, w words) error { return w.scan("N", &s.workers) },
	"service": readService,
	"limit":   func(s *setup, w words) error { return w.scan("N", &s.limit) },
	"deadline": func(s *setup, w words) error {
		return w.scan("D", &s.deadline)
	},
	"callers":   func(s *setup, w words) error { return w.scan("N", &s.callers) },
	"impatient": func(s *setup, w words) error { return w.scan("P", &s.impatient) },
	"mix":       func(s *setup, w words) error { return s.mix.read(w) },
	"retries":   func(s *setup, w words) error { return s.retries.read(w) },
	"store":     func(s *setup, w words) error { return w.scan("D away", &s.trip) },
	"rate":      func(s *setup, w words) error { return w.scan("R burst N", &s.rate, &s.burst) },
	"slots":     func(s *setup, w words) error { return w.scan("N lease D", &s.slots, &s.lease) },
	"leases":    func(s *setup, w words) error { return w.scan("from N", &s.hot) },
	"reserve":   func(s *setup, w words) error { return w.scan("P", &s.reserve) },
	"declared":  func(s *setup, w words) error { return w.scan("N", &s.declared) },
	"balancer":  func(s *setup, w words) error { return w.scan("D", &s.balancer) },
	"clocks": func(s *setup, w words) error {
		if w.lengths(4) {
			return w.scan("D apart P drift", &s.skew, &s.drift)
		}
		return w.scan("D apart", &s.skew)
	},
	"ramp": func(s *setup, w words) error {
		if len(w) != 1 || !slices.Contains([]string{"stripe", "fast", "off"}, w[0]) {
			return fmt.Errorf("allowed: stripe, fast, off")
		}
		s.ramp = w[0]
		return nil
	},
}

// readService reads the machine: slots of some time, or processors and pieces.
func readService(s *setup, w words) error {
	m := &s.machine
	switch {
	case w.lengths(4) && w[1] == "slots":
		return w.scan("N slots of D", &m.slots, &m.service)
	case w.lengths(5) && w[1] == "slots":
		m.exponential = true
		return w.scan("N slots of D exponential", &m.slots, &m.service)
	case w.lengths(6):
		m.slots = 0
		return w.scan("N processors N pieces of D", &m.processors, &m.pieces, &m.piece)
	}
	m.slots = 0
	return w.scan("N processors N pieces of D with D apart", &m.processors, &m.pieces, &m.piece, &m.apart)
}

func (m *mix) read(w words) error {
	err := w.scan("critical P high P normal P low P", &m[3], &m[2], &m[1], &m[0])
	if sum := m[0] + m[1] + m[2] + m[3]; err == nil && math.Abs(sum-1) > 1e-3 {
		return fmt.Errorf("the shares must be 100%% together, got %.4g%%", 100*sum)
	}
	return err
}

func (r *retries) read(w words) error {
	r.after = 0
	if w.lengths(1) {
		return w.scan("N", &r.times)
	}
	return w.scan("N after D", &r.times, &r.after)
}

// mustHave says which figures cannot be 0.
func (s *setup) validate() error {
	if m := &s.machine; m.slots == 0 && (m.processors < 1 || m.pieces < 1) {
		return fmt.Errorf("service must be of 1 slot or more, or of 1 processor and piece or more")
	}
	for name, v := range map[string]time.Duration{"length": s.length, "service": s.machine.work(), "deadline": s.deadline} {
		if v <= 0 {
			return fmt.Errorf("%s must be above 0", name)
		}
	}
	if s.workers < 1 || s.workers > 64 || s.callers < 1 {
		return fmt.Errorf("workers must be 1 to 64 and callers 1 or more, got %d and %d", s.workers, s.callers)
	}
	return nil
}
