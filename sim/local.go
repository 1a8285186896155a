package sim

import (
	"context"

	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// local is the embedded store that a worker falls back to, with the checks
// that its share is kept.
type local struct {
	*memstore.Store
	worker *worker
}

func newLocal(w *worker) local { return local{newMemory(), w} }

// Claim decides by the worker's clock.
func (l local) Claim(ctx context.Context, b *store.Batch) error {
	err := l.Store.Claim(ctx, b)
	if err == nil {
		l.worker.world.checks.decidedLocally(l.worker, b)
	}
	return err
}

// Return gives back.
func (l local) Return(ctx context.Context, returns []store.Return) error {
	l.worker.world.checks.returnedLocally(l.worker, returns)
	return l.Store.Return(ctx, returns)
}
