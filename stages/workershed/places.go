package workershed

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/store"
)

// places counts the requests of each caller that wait or ask the store, in a
// fixed table: two rows of counters, a caller's count being the lesser of its
// two. A caller that shares one counter with a busy one is not mistaken for
// it; one in a million shares both. Where a caller falls is random to each
// process, so that nobody can choose an id to fall on somebody else.
type places struct {
	row    [2][placesInRow]atomic.Int32
	factor [2]uint64 // odd and random
}

const (
	placesBits  = 10
	placesInRow = 1 << placesBits
)

func newPlaces() *places {
	return &places{factor: [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}}
}

func (p *places) of(caller store.Key) (a, b *atomic.Int32) {
	const shift = 64 - placesBits
	return &p.row[0][caller.Lo*p.factor[0]>>shift], &p.row[1][caller.Hi*p.factor[1]>>shift]
}

// add notes one place more, or one less. A caller that is not known has none.
func (p *places) add(caller store.Key, change int32) {
	if caller.IsZero() {
		return
	}
	a, b := p.of(caller)
	a.Add(change)
	b.Add(change)
}

// used is how many places a caller has.
func (p *places) used(caller store.Key) int {
	if caller.IsZero() {
		return 0
	}
	a, b := p.of(caller)
	return int(min(a.Load(), b.Load()))
}

// placesFor is how many places a caller may have under a limit.
func placesFor(limit int) int { return max(2, limit/4) }
