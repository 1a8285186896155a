package sim

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// traffic is all clients. They come when it is planned, whatever becomes of
// those before them.
type traffic struct {
	world                      *world
	everybody, abuser, streams *source
	keys                       []store.Key // of the callers; the last is the abuser's
	lasting                    atomic.Int64

	mu      sync.Mutex
	mix     mix
	retries retries
}

func newTraffic(w *world) *traffic {
	s := &w.scenario.setup
	t := &traffic{world: w, mix: s.mix, retries: s.retries}
	for i := range s.callers + 1 {
		t.keys = append(t.keys, store.KeyOf("caller", strconv.Itoa(i)))
	}
	t.everybody = newSource(newChance(w.seed, 10), t.somebody)
	t.abuser = newSource(newChance(w.seed, 11), t.theAbuser)
	t.streams = newSource(newChance(w.seed, 12), t.aStream)
	return t
}

func (t *traffic) setMix(m mix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mix = m
}

func (t *traffic) setRetries(r retries) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retries = r
}

// source sends at random moments, at a rate that changes.
type source struct {
	send    func(chance)
	changed chan float64
	chance  chance
}

func newSource(c chance, send func(chance)) *source {
	return &source{send: send, changed: make(chan float64), chance: c}
}

func (s *source) set(rate float64) { s.changed <- rate }

// run sends until it is over.
func (s *source) run(over <-chan struct{}) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	rate := 0.0
	for {
		select {
		case <-over:
			return
		case rate = <-s.changed:
		case <-timer.C:
			if rate > 0 {
				s.send(chance{s.chance.word()})
			}
		}
		if rate > 0 {
			timer.Reset(s.chance.exponential(time.Duration(float64(time.Second)/rate)) + 1)
		}
	}
}

// request is what one client wants, retries included.
type request struct {
	id       uint64
	dice     chance
	class    priority.Class
	caller   int
	key      store.Key
	abuser   bool
	stream   bool
	patience time.Duration // of a client that leaves early; 0 is no such
}

func (t *traffic) request(c chance) *request {
	t.mu.Lock()
	m := t.mix
	t.mu.Unlock()
	q := &request{dice: c}
	q.id = q.dice.word()
	dice := q.dice.unit()
	for i, share := range m {
		if dice -= share; dice < 0 {
			q.class = priority.FromIndex(i)
			break
		}
		q.class = priority.FromIndex(i)
	}
	q.caller = q.dice.below(len(t.keys) - 1)
	q.key = t.keys[q.caller]
	if q.dice.hit(t.world.scenario.setup.impatient) {
		q.patience = q.dice.around(8 * time.Millisecond)
	}
	return q
}

func (t *traffic) somebody(c chance) {
	q := t.request(c)
	t.world.requests.Go(func() { t.visit(q) })
}

func (t *traffic) theAbuser(c chance) {
	q := t.request(c)
	q.abuser, q.caller = true, len(t.keys)-1
	q.key = t.keys[q.caller]
	t.world.requests.Go(func() { t.visit(q) })
}

func (t *traffic) aStream(c chance) {
	q := t.request(c)
	q.stream, q.patience = true, 0
	t.world.requests.Go(func() { t.visit(q) })
}

// visit is a client's whole story.
func (t *traffic) visit(q *request) {
	t.mu.Lock()
	again := t.retries
	t.mu.Unlock()
	for range again.times {
		if o := t.try(q); o == good || o == abandoned || o == left {
			return
		}
		if again.after > 0 {
			time.Sleep(q.dice.around(again.after))
		}
		q.dice.apart()
	}
	t.try(q)
}

// try sends a request once.
func (t *traffic) try(q *request) outcome {
	at := time.Now()
	t.world.record.offered(q, at)
	w := t.world.pick(&q.dice)
	o, entry := lost, 0
	if w != nil {
		a := attempt{q: q, w: w, at: at, deadline: at.Add(t.world.scenario.setup.deadline)}
		o, entry = a.run()
	}
	t.world.record.ended(q, at, o, entry)
	t.world.journal.note(outcomes[o], 0, q.id, uint64(entry))
	return o
}

var outcomes = [...]string{"good", "late", "refused", "abandoned", "left", "lost"}

// client is the context of a client that may leave.
func (q *request) client() (context.Context, context.CancelFunc) {
	if q.patience == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), q.patience)
}
