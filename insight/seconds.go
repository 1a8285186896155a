package insight

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Window is how far back questions about the past reach.
const Window = 10 * time.Minute

const (
	windowSeconds = int64(Window / time.Second)
	perSecond     = 24 // samples that are kept of each second
)

// seconds keeps a fair sample of the requests of each of the last seconds.
type seconds struct {
	ring [windowSeconds + 2]second // two more, so that the one that is overwritten is not one that is asked for
}

// second is the sample of one second.
type second struct {
	number atomic.Int64 // since the epoch
	seen   atomic.Int64 // requests that were decided
	mu     sync.Mutex
	kept   [perSecond]Sample
	filled int
	at     int64 // the second that kept is of
}

// pick decides whether a request is kept, and where: each request of a second
// has the same chance.
func (s *seconds) pick(now int64) *place {
	number := now / int64(time.Second)
	if number < 0 {
		return nil
	}
	second := &s.ring[number%int64(len(s.ring))]
	if second.number.Load() != number && !second.begin(number) {
		return nil
	}
	n := second.seen.Add(1)
	if n > perSecond && rand.Int64N(n) >= perSecond {
		return nil
	}
	return (*place)(second)
}

// begin makes a second another one, and reports whether it is: a request that
// was stamped long ago is not remembered.
func (s *second) begin(number int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.number.Load() < number {
		s.seen.Store(0)
		s.filled, s.at = 0, number
		s.number.Store(number)
	}
	return s.number.Load() == number
}

// place is a second that keeps one more sample.
type place second

// keep takes a free place, or that of another.
func (p *place) keep(sample Sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sample.At/int64(time.Second) != p.at {
		return
	}
	if p.filled < perSecond {
		p.kept[p.filled] = sample
		p.filled++
		return
	}
	p.kept[rand.IntN(perSecond)] = sample
}

// weighed is a sample and how many requests it stands for.
type weighed struct {
	Sample
	weight float64
}

// since lists the samples of the last seconds, oldest first.
func (s *seconds) since(now int64, window time.Duration) (list []weighed, from int64) {
	last := now / int64(time.Second)
	first := last - int64(min(window, Window)/time.Second) + 1
	for number := max(first, 0); number <= last; number++ {
		second := &s.ring[number%int64(len(s.ring))]
		second.mu.Lock()
		if second.at == number {
			weight := float64(max(second.seen.Load(), int64(second.filled))) / float64(max(second.filled, 1))
			for i := range second.filled {
				list = append(list, weighed{second.kept[i], weight})
			}
		}
		second.mu.Unlock()
	}
	return list, max(first, 0) * int64(time.Second)
}
