package pipeline

import (
	"math"

	"github.com/plimsoll-go/plimsoll/store"
)

// Listed is how many requests the list of holders knows.
func (p *Pipeline) Listed() int {
	p.holders.mu.Lock()
	defer p.holders.mu.Unlock()
	return len(p.holders.list)
}

// SlotsHeld is what a renewal would renew.
func (p *Pipeline) SlotsHeld() []store.Return {
	return p.holders.slotsHeld(math.MaxInt64, p.Now(), nil)
}
