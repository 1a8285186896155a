package workershed

import (
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/priority"
)

// slots count what is in flight, all classes in one word: whether there is
// room, and whether somebody waits for it, change together or not at all. So a
// release cannot miss a waiter that had just missed the release.
//
// Each class has a lane of laneBits, least important first; above them stands
// the waiting bit, which is set exactly while the queue is not empty.
type slots struct{ word atomic.Uint64 }

const (
	laneBits = 15
	laneMask = 1<<laneBits - 1
	waiting  = 1 << (laneBits * priority.Count)
	maxSlots = laneMask // what the lanes can count, together
)

// one is a slot of a class.
func one(class int) uint64 { return 1 << (laneBits * class) }

// lane is how many slots of a class are out.
func lane(word uint64, class int) int { return int(word >> (laneBits * class) & laneMask) }

// total is how many slots are out.
func total(word uint64) int {
	return lane(word, 0) + lane(word, 1) + lane(word, 2) + lane(word, 3)
}

func (s *slots) total() int { return total(s.word.Load()) }

// take takes a slot if fewer than limit are out.
func (s *slots) take(class, limit int) bool {
	for {
		w := s.word.Load()
		if total(w) >= limit {
			return false
		}
		if s.word.CompareAndSwap(w, w+one(class)) {
			return true
		}
	}
}

// takeOrWait takes a slot, or announces a waiter, in one step.
func (s *slots) takeOrWait(class, limit int) (took bool) {
	for {
		w := s.word.Load()
		if total(w) < limit {
			if s.word.CompareAndSwap(w, w+one(class)) {
				return true
			}
			continue
		}
		if s.word.CompareAndSwap(w, w|waiting) {
			return false
		}
	}
}

// give gives a slot back, unless somebody waits for it: then it is to be
// handed over. A slot that is not out is not given back.
func (s *slots) give(class int) (wanted bool) {
	for {
		w := s.word.Load()
		switch {
		case w&waiting != 0:
			return true
		case lane(w, class) == 0:
			return false
		case s.word.CompareAndSwap(w, w-one(class)):
			return false
		}
	}
}

// nobodyWaits ends what takeOrWait announced.
func (s *slots) nobodyWaits() { s.word.And(^uint64(waiting)) }
