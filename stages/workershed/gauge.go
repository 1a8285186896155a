package workershed

import "sync/atomic"

// gauge counts what is held under a cap that the asker brings along. It never
// falls below 0.
type gauge struct{ held atomic.Int64 }

func (g *gauge) take(limit int) bool {
	for {
		n := g.held.Load()
		if n >= int64(limit) {
			return false
		}
		if g.held.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (g *gauge) give() {
	for {
		n := g.held.Load()
		if n <= 0 || g.held.CompareAndSwap(n, n-1) {
			return
		}
	}
}

func (g *gauge) value() int { return int(g.held.Load()) }
