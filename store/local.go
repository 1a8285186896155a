package store

import (
	"context"
	"sync"
	"sync/atomic"
)

// ClaimLocal decides a batch on the embedded store, each limit at this
// worker's share of it by the last known number of workers.
func (g *Guard) ClaimLocal(ctx context.Context, b *Batch) error {
	if g.config.Local == nil {
		return ErrUnavailable
	}
	s := g.sharesOf(int(g.workers.Load()))
	for i := range b.Claims {
		b.Claims[i].Limit = s.of(b.Claims[i].Limit)
	}
	return g.config.Local.Claim(ctx, b)
}

// ReturnLocal gives back what ClaimLocal granted.
func (g *Guard) ReturnLocal(ctx context.Context, returns []Return) {
	if g.config.Local != nil {
		_ = g.config.Local.Return(ctx, returns) // as Guard.Return
	}
}

// shares are limits as one of n workers has them, prepared once.
type shares struct {
	n     int
	known atomic.Int32
	limit sync.Map // *Limit → *Limit
}

// maxShares bounds the limits that are kept; beyond it they are prepared anew.
const maxShares = 4096

func (g *Guard) sharesOf(n int) *shares {
	s := g.shares.Load()
	if s != nil && s.n == n && s.known.Load() < maxShares {
		return s
	}
	s = &shares{n: n}
	g.shares.Store(s)
	return s
}

func (s *shares) of(l *Limit) *Limit {
	if s.n <= 1 {
		return l
	}
	if known, ok := s.limit.Load(l); ok {
		return known.(*Limit)
	}
	s.known.Add(1)
	known, _ := s.limit.LoadOrStore(l, l.Share(s.n))
	return known.(*Limit)
}
