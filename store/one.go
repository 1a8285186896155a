package store

import (
	"context"
	"sync"
)

var batches = sync.Pool{New: func() any {
	return &Batch{Claims: make([]Claim, 1), Grants: make([]Grant, 1)}
}}

// ClaimOne asks a driver for a single claim.
func ClaimOne(ctx context.Context, d Driver, c Claim, now int64) (Grant, error) {
	return askOne(ctx, d, c, now, false)
}

// PeekOne answers what ClaimOne would, and takes nothing.
func PeekOne(ctx context.Context, d Driver, c Claim, now int64) (Grant, error) {
	return askOne(ctx, d, c, now, true)
}

func askOne(ctx context.Context, d Driver, c Claim, now int64, peek bool) (Grant, error) {
	b := batches.Get().(*Batch)
	defer batches.Put(b)
	b.Now, b.Peek, b.Claims[0], b.Grants[0] = now, peek, c, Grant{}
	err := d.Claim(ctx, b)
	return b.Grants[0], err
}
