package workershed

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// model is the queue as one would write it down on paper: the rules, and
// nothing clever.
type model struct {
	limit   int
	bound   int
	held    [priority.Count]int
	lines   [priority.Count][2][]modelWaiter // first places of their callers, and the rest; oldest first
	since   [priority.Count][2]time.Duration
	granted []*waiter
}

type modelWaiter struct {
	real   *waiter
	caller int
}

func (m *model) total() (n int) {
	for _, held := range m.held {
		n += held
	}
	return n
}

func (m *model) cap(class int) int {
	s := newShares(defaultShares)
	return s.capOf(m.limit, class)
}

func (m *model) waiting(class int) int { return len(m.lines[class][0]) + len(m.lines[class][1]) }

// places is how many waiters a caller has; nobody knows how many 0 has.
func (m *model) places(caller int) (n int) {
	for class := range m.lines {
		for _, w := range slices.Concat(m.lines[class][0], m.lines[class][1]) {
			if w.caller == caller && caller != 0 {
				n++
			}
		}
	}
	return n
}

// enter is what the queue has to answer: a slot, a place, or neither.
func (m *model) enter(class, caller int) (took, waits bool) {
	if m.waiting(class) == 0 && m.total() < m.cap(class) {
		m.held[class]++
		return true, false
	}
	for i := class; i < priority.Count; i++ {
		if m.waiting(i) >= m.bound {
			return false, false
		}
	}
	return false, m.places(caller) < max(2, m.limit/4)
}

// settle serves whoever has room, the most important first.
func (m *model) settle(now time.Duration) {
	m.granted = nil
	for class := priority.Count - 1; class >= 0; {
		if m.waiting(class) == 0 || m.total() >= m.cap(class) {
			class--
			continue
		}
		which := 0
		if len(m.lines[class][0]) == 0 {
			which = 1
		}
		line, next := m.lines[class][which], 0
		if now-m.since[class][which] >= 100*time.Millisecond {
			next = len(line) - 1
		}
		m.granted = append(m.granted, line[next].real)
		m.lines[class][which] = slices.Delete(line, next, next+1)
		m.held[class]++
	}
}

// The queue is the model, whatever happens to it in whatever order.
func TestQueueIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := NewState()
		s, err := New(Config{QueuePerClass: 3}, state)
		if err != nil {
			t.Fatal(err)
		}
		q, m, now := &state.queue, &model{bound: 3}, time.Duration(0)
		set := func(limit int) { m.limit = limit; state.limit.Store(int64(limit)) }
		set(rapid.IntRange(1, 12).Draw(t, "limit"))
		class := func() int { return rapid.IntRange(0, priority.Count-1).Draw(t, "class") }
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				k, name := class(), rapid.IntRange(0, 2).Draw(t, "caller")
				e := entrant{now: int64(now)}
				if name != 0 {
					e.caller = caller(strconv.Itoa(name)).ID
				}
				which := min(m.places(name), 1)
				wantSlot, wantPlace := m.enter(k, name)
				w, took := q.enter(s, k, e)
				if took != wantSlot || (w != nil) != wantPlace {
					t.Fatalf("enter: slot %v, place %v; want %v, %v", took, w != nil, wantSlot, wantPlace)
				}
				if w != nil {
					if len(m.lines[k][which]) == 0 {
						m.since[k][which] = now
					}
					m.lines[k][which] = append(m.lines[k][which], modelWaiter{w, name})
				}
			},
			"take": func(t *rapid.T) {
				k := class()
				want := m.total() < m.cap(k)
				if got := state.slots.take(k, s.capOf(k)); got != want {
					t.Fatalf("take: %v, want %v", got, want)
				}
				if want {
					m.held[k]++
				}
			},
			"give": func(t *rapid.T) {
				k := class()
				q.give(k, int64(now))
				m.held[k] = max(0, m.held[k]-1)
				m.settle(now)
				m.mustHaveServed(t, q)
			},
			"leave": func(t *rapid.T) {
				line := &m.lines[class()][rapid.IntRange(0, 1).Draw(t, "line")]
				if len(*line) == 0 {
					return
				}
				i := rapid.IntRange(0, len(*line)-1).Draw(t, "who")
				w := (*line)[i].real
				if !q.leave(w) {
					t.Fatal("a waiter that has no slot could not leave")
				}
				q.reuse(w)
				*line = slices.Delete(*line, i, i+1)
			},
			"limit": func(t *rapid.T) {
				set(rapid.IntRange(1, 12).Draw(t, "limit"))
				q.raised(int64(now))
				m.settle(now)
				m.mustHaveServed(t, q)
			},
			"limit that nobody was told of": func(t *rapid.T) {
				set(rapid.IntRange(1, 12).Draw(t, "limit"))
			},
			"time": func(t *rapid.T) {
				now += time.Duration(rapid.IntRange(1, 150).Draw(t, "ms")) * time.Millisecond
			},
			"": func(t *rapid.T) { m.mustBe(t, state) },
		})
	})
}

// mustHaveServed fails unless exactly those have a slot who should, in order.
func (m *model) mustHaveServed(t *rapid.T, q *queue) {
	for _, w := range m.granted {
		select {
		case <-w.ready:
		default:
			t.Fatal("a waiter that has room was not served")
		}
		if q.leave(w) {
			t.Fatal("a waiter that was served could leave the line")
		}
	}
	for _, w := range m.granted {
		q.reuse(w)
	}
}

func (m *model) mustBe(t *rapid.T, s *State) {
	word, waits := s.slots.word.Load(), 0
	for class := range m.held {
		if got := lane(word, class); got != m.held[class] {
			t.Fatalf("class %d holds %d, want %d", class, got, m.held[class])
		}
		if got := int(s.queue.queued[class].Load()); got != m.waiting(class) {
			t.Fatalf("class %d has %d waiters, want %d", class, got, m.waiting(class))
		}
		for _, w := range slices.Concat(m.lines[class][0], m.lines[class][1]) {
			if len(w.real.ready) != 0 {
				t.Fatalf("a waiter of class %d was served out of turn", class)
			}
		}
		waits += m.waiting(class)
	}
	if (word&waiting != 0) != (waits > 0) {
		t.Fatalf("the waiting bit is %v with %d waiters", word&waiting != 0, waits)
	}
}

func TestPlacesOfACallerAreItsOwn(t *testing.T) {
	p := newPlaces()
	abuser := caller("abuser").ID
	p.add(abuser, 1000)
	p.add(pipeline.Caller{}.ID, 1000)
	mistaken := 0
	for i := range 20_000 {
		if p.used(caller(strconv.Itoa(i)).ID) > 0 {
			mistaken++
		}
	}
	if mistaken > 2 { // one in a million is expected, none of them here
		t.Errorf("%d of 20,000 callers are mistaken for the abuser", mistaken)
	}
	if p.used(abuser) != 1000 || p.used(pipeline.Caller{}.ID) != 0 {
		t.Errorf("the abuser has %d places, nobody has %d", p.used(abuser), p.used(pipeline.Caller{}.ID))
	}
	p.add(abuser, -1000)
	if p.used(abuser) != 0 {
		t.Error("places that were left are still counted")
	}
}
