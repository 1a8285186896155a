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
	b := batches.Get().(*Batch)
	defer batches.Put(b)
	b.Now, b.Claims[0], b.Grants[0] = now, c, Grant{}
	err := d.Claim(ctx, b)
	return b.Grants[0], err
}
