package sim

import (
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Second is what happened in one second of virtual time. Requests count in the
// second in which they came, but for Served.
type Second struct {
	At       int                   `json:"second"`
	Class    [priority.Count]Tally `json:"class"`   // by Class.Index, least important first
	Abuser   Tally                 `json:"abuser"`  // not among the classes
	Refused  [entries]int          `json:"refused"` // by entry: gate, rate, slots, fleet, worker
	Served   int                   `json:"served"`  // good answers that were given in this second
	Limit    int                   `json:"limit"`   // of all workers together
	Level    float64               `json:"level"`   // the highest of a worker, strain included
	InFlight int                   `json:"in_flight"`
	Lease    float64               `json:"lease"`          // the leases in use, together
	Known    float64               `json:"known"`          // the fleet's capacity, as the middle one of its workers has heard it last
	Over     float64               `json:"over"`           // request-seconds of non-critical work above what the reserve leaves
	Store    string                `json:"store"`          // the worst state of a guard
	Up       int                   `json:"up"`             // workers
	Waited   int                   `json:"waited"`         // decisions that waited for the store in vain
	Lent     int                   `json:"lent,omitempty"` // loans of tokens that the store made
	Events   []string              `json:"events,omitempty"`
}

// Tally counts the requests of one class.
type Tally struct {
	Offered   int `json:"offered"`
	Admitted  int `json:"admitted"`
	Refused   int `json:"refused"`
	Abandoned int `json:"abandoned"` // the client left before there was an answer
	Good      int `json:"good"`      // answered within the deadline
	Late      int `json:"late"`      // admitted, and not answered within the deadline
	Left      int `json:"left"`      // admitted, and the client left
	Lost      int `json:"lost"`      // sent to a worker that was dead or frozen, or died with it
}

func (t *Tally) add(o Tally) {
	t.Offered += o.Offered
	t.Admitted += o.Admitted
	t.Refused += o.Refused
	t.Abandoned += o.Abandoned
	t.Good += o.Good
	t.Late += o.Late
	t.Left += o.Left
	t.Lost += o.Lost
}

// reached is what reached a worker that runs, and was not taken back.
func (t *Tally) reached() int { return t.Offered - t.Lost - t.Left - t.Abandoned }

// record keeps the seconds.
type record struct {
	began   time.Time
	mu      sync.Mutex
	seconds []Second
}

// outcome is how one attempt of a client ended.
type outcome int

const (
	good outcome = iota
	late
	refused
	abandoned
	left
	lost
)

func (r *record) second(at time.Time) *Second {
	n := int(at.Sub(r.began) / time.Second)
	for len(r.seconds) <= n {
		r.seconds = append(r.seconds, Second{At: len(r.seconds)})
	}
	return &r.seconds[n]
}

func (r *record) tally(q *request, at time.Time) *Tally {
	s := r.second(at)
	if q.abuser {
		return &s.Abuser
	}
	return &s.Class[q.class.Index()]
}

func (r *record) offered(q *request, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally(q, at).Offered++
}

// ended notes the end of an attempt that began at a moment; entry is who
// refused it.
func (r *record) ended(q *request, at time.Time, o outcome, entry int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tally(q, at)
	switch o {
	case good:
		t.Good++
		t.Admitted++
		if !q.stream {
			r.second(time.Now()).Served++
		}
	case late:
		t.Late++
		t.Admitted++
	case left:
		t.Left++
		t.Admitted++
	case refused:
		t.Refused++
		r.second(at).Refused[entry]++
	case abandoned:
		t.Abandoned++
	case lost:
		t.Lost++
	}
}

func (r *record) lent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.second(time.Now()).Lent++
}

func (r *record) event(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.second(time.Now())
	s.Events = append(s.Events, line)
}
