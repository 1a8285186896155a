package concurrency

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// An adaptive cap looks at a second of ended requests at a time: it falls by
// fallBy when a share of dropShare of at least minSamples were overload
// signals, and otherwise rises by riseBy of its maximum. Ten bad seconds take
// it to a fifth, twenty good ones bring it back: slower than the worker's own
// shedder, which acts first, and quick enough to take a failing dependency's
// load off before people notice.
const (
	adaptEvery = time.Second
	minSamples = 5
	dropShare  = 0.1
	fallBy     = 0.85
	riseBy     = 0.05
)

// State is what outlives a plan: the caps that adapted, by limit.
type State struct {
	mu   sync.Mutex
	caps map[string]*atomic.Int64
}

// NewState is a state in which nothing has adapted.
func NewState() *State { return &State{caps: map[string]*atomic.Int64{}} }

func (s *State) cap(name string, start int64) *atomic.Int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.caps[name] == nil {
		s.caps[name] = new(atomic.Int64)
		s.caps[name].Store(start)
	}
	return s.caps[name]
}

// adaptive is a limit whose cap moves between two bounds.
type adaptive struct {
	min, max int64
	base     *store.Limit
	cap      *atomic.Int64 // live: outlives this view
	limit    atomic.Pointer[store.Limit]
	ended    atomic.Int64
	dropped  atomic.Int64
	judged   int64 // when the last second was judged; the ticker's own
}

func newAdaptive(l *Limit, base *store.Limit, live *atomic.Int64) *adaptive {
	a := &adaptive{min: l.Min, max: l.Max, base: base, cap: live}
	a.show(a.current())
	return a
}

// current is the live cap within this view's bounds. The live one is left as
// it is: a view that was built may never be used.
func (a *adaptive) current() int64 { return min(max(a.cap.Load(), a.min), a.max) }

// show makes a cap the one that is claimed. A cap within the bounds always
// makes a valid limit.
func (a *adaptive) show(n int64) {
	if l, err := store.NewSlots(a.base.Name, n, a.base.Lease); err == nil {
		a.limit.Store(l)
	}
}

// nextCap is the cap after a second in which ended requests ended, dropped of
// them as overload signals.
func nextCap(n, ended, dropped, lowest, highest int64) int64 {
	if ended >= minSamples && float64(dropped) >= dropShare*float64(ended) {
		return max(lowest, min(n-1, int64(float64(n)*fallBy)))
	}
	return min(highest, n+max(1, int64(float64(highest)*riseBy)))
}

func (a *adaptive) tick(now int64) {
	if a.judged == 0 {
		a.judged = now
	}
	if now-a.judged < int64(adaptEvery) {
		return
	}
	a.judged = now
	n := nextCap(a.current(), a.ended.Swap(0), a.dropped.Swap(0), a.min, a.max)
	a.cap.Store(n)
	if a.limit.Load().Max != n {
		a.show(n)
	}
}

// Learns reports whether a cap adapts.
func (s *Stage) Learns() bool { return s.learns }

// Learn counts how a request ended, for each adaptive limit that it met.
func (s *Stage) Learn(r *pipeline.Request, result pipeline.Result) {
	if result.Outcome == pipeline.Ignored {
		return
	}
	for _, i := range s.byRoute[s.table.Resolve(&r.Subject)] {
		rule := &s.rules[i]
		if rule.adaptive == nil {
			continue
		}
		if _, meant := rule.capsFor(r); meant {
			rule.adaptive.ended.Add(1)
			if result.Outcome == pipeline.Dropped {
				rule.adaptive.dropped.Add(1)
			}
		}
	}
}

// Tick moves the adaptive caps.
func (s *Stage) Tick(now int64) {
	for i := range s.rules {
		if a := s.rules[i].adaptive; a != nil {
			a.tick(now)
		}
	}
}

// Cap is the current cap of a limit; false when it is fixed or not there.
func (s *Stage) Cap(name string) (int64, bool) {
	for i := range s.rules {
		if a := s.rules[i].adaptive; a != nil && s.rules[i].name == name {
			return a.current(), true
		}
	}
	return 0, false
}
