package insight

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Question is what would be different. Zero fields ask nothing; what is set is
// asked together.
type Question struct {
	// Refuses reports whether a request would be refused. It decides by the
	// request alone. Nil: none would.
	Refuses func(*Sample) bool
	// Admits reports whether what refused a request would not any more: the
	// sample's Entry and Rule say what did. Behind it others may refuse.
	Admits func(*Sample) bool
	// Rate asks what a limit of rate would refuse. Nil: nothing.
	Rate *RateQuestion
	// Reserve asks what another reserve or capacity of the fleet would refuse.
	// Nil: nothing.
	Reserve *ReserveQuestion
	// Window is how far back to look, 1s … Window. Default: Window.
	Window time.Duration
	// Top is how many routes and callers are named. Default 10.
	Top int
}

// RateQuestion is a limit that is not there.
type RateQuestion struct {
	PerSecond float64
	Burst     float64
	// Concerns reports whether the limit means a request. Nil: all.
	Concerns func(*Sample) bool
	// Key says whose requests count together. Nil: everybody's.
	Key func(*Sample) string
}

// Answer is what would have been. Figures are requests of this worker,
// estimated from a sample.
type Answer struct {
	From    time.Time `json:"from"`    // what was looked at begins here, or later if the worker is younger
	To      time.Time `json:"to"`      // and ends here
	Samples int       `json:"samples"` // requests that this was made of
	Exact   bool      `json:"exact"`   // all requests were among them

	Share
	Classes []Share `json:"classes"` // most critical first
	Routes  []Share `json:"routes"`  // of which most would be refused first
	Callers []Share `json:"callers"` // likewise
	// MoreRoutes and MoreCallers are how many there are beside those named.
	MoreRoutes  int `json:"more_routes"`
	MoreCallers int `json:"more_callers"`
}

// Share is what would have become of some requests.
type Share struct {
	Name     string  `json:"name"` // of the class, route or caller; "" for all
	ID       string  `json:"id,omitzero"`
	Offered  float64 `json:"offered"`  // requests that came
	Refused  float64 `json:"refused"`  // that were refused
	Would    float64 `json:"would"`    // that were admitted and would be refused
	Released float64 `json:"released"` // that were refused and would be admitted, by what was asked about
}

// Ask answers from the samples of the last minutes. It costs some
// milliseconds.
func (r *Recorder) Ask(q Question) Answer {
	if q.Window <= 0 || q.Window > Window {
		q.Window = Window
	}
	if q.Top == 0 {
		q.Top = 10
	}
	now := r.now()
	list, from := r.seconds.since(now, q.Window)
	a := Answer{From: time.Unix(0, from).UTC(), To: time.Unix(0, now).UTC(), Samples: len(list), Exact: true}
	over, reserve := q.Rate.over(list), q.Reserve.refused(&r.fleets)
	classes, routes, callers := shares{}, shares{}, shares{}
	for i := range list {
		s := &list[i]
		a.Exact = a.Exact && s.weight == 1
		part := max(over[i]/s.weight, reserve[s.At/int64(time.Second)][s.Class.Index()])
		add := shareOf(s, &q, part)
		a.Share.add(&add)
		classes.add(s.Class.String(), "", &add)
		routes.add(s.Route, "", &add)
		callers.add(labelOf(&s.Caller), s.Caller.ID.String(), &add)
	}
	for _, class := range slices.Backward(priority.All[:]) {
		if s := classes[class.String()]; s != nil {
			a.Classes = append(a.Classes, *s)
		}
	}
	a.Routes, a.MoreRoutes = routes.top(q.Top)
	a.Callers, a.MoreCallers = callers.top(q.Top)
	return a
}

// shareOf is one sample's share; part is how much of it a limit or a reserve
// would refuse.
func shareOf(s *weighed, q *Question, part float64) (add Share) {
	add.Offered = s.weight
	if s.Verdict == pipeline.Reject {
		add.Refused = s.weight
		if q.Admits != nil && q.Admits(&s.Sample) {
			add.Released = s.weight
		}
		return add
	}
	switch {
	case q.Refuses != nil && q.Refuses(&s.Sample):
		add.Would = s.weight
	case part > 0:
		add.Would = part * s.weight
	}
	return add
}

func (s *Share) add(o *Share) {
	s.Offered += o.Offered
	s.Refused += o.Refused
	s.Would += o.Would
	s.Released += o.Released
}

// shares is shares by name.
type shares map[string]*Share

func (t shares) add(name, id string, s *Share) {
	sum := t[name]
	if sum == nil {
		sum = &Share{Name: name, ID: id}
		t[name] = sum
	}
	sum.add(s)
}

func (t shares) top(most int) (list []Share, more int) {
	for _, s := range slices.SortedFunc(maps.Values(t), func(a, b *Share) int {
		return cmp.Or(cmp.Compare(b.Would+b.Released, a.Would+a.Released), cmp.Compare(b.Offered, a.Offered), cmp.Compare(a.Name, b.Name))
	}) {
		if len(list) == most {
			return list, len(t) - most
		}
		list = append(list, *s)
	}
	return list, 0
}

func labelOf(c *pipeline.Caller) string { return c.Label() }

// over is how much of each sample's weight a bucket would have refused, had
// all requests that it stands for come at its moment.
func (q *RateQuestion) over(list []weighed) []float64 {
	over := make([]float64, len(list))
	if q == nil {
		return over
	}
	type bucket struct {
		tokens float64
		at     int64
	}
	buckets := map[string]*bucket{}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(list[a].At, list[b].At) })
	for _, i := range order {
		s := &list[i]
		if q.Concerns != nil && !q.Concerns(&s.Sample) {
			continue
		}
		key := ""
		if q.Key != nil {
			key = q.Key(&s.Sample)
		}
		b := buckets[key]
		if b == nil {
			b = &bucket{q.Burst, s.At}
			buckets[key] = b
		}
		b.tokens = min(q.Burst, b.tokens+q.PerSecond*time.Duration(s.At-b.at).Seconds())
		b.at = s.At
		passed := min(max(b.tokens, 0), s.weight)
		b.tokens -= passed
		over[i] = s.weight - passed
	}
	return over
}

// Sheds asks about a shed: every class below one, and a share of their cohorts
// from 0 to 1, on routes that meant reports. Nil means every route.
func Sheds(below priority.Class, share float64, meant func(route string) bool) func(*Sample) bool {
	return func(s *Sample) bool {
		return s.Class < below && s.Cohort.Shed(share) && (meant == nil || meant(s.Route))
	}
}

// Level asks about a level of a worker's slow layer: 1 drops all of Low, 2
// Normal too, 3 High too.
func Level(level float64) func(*Sample) bool {
	return func(s *Sample) bool {
		share := min(max(level-float64(s.Class.Index()), 0), 1)
		return s.Class != priority.Critical && s.Cohort.Shed(share)
	}
}
