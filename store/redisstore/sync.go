package redisstore

import (
	"context"

	"github.com/plimsoll-go/plimsoll/store"
)

// Sync is not there yet.
func (s *Store) Sync(ctx context.Context, r store.Report) (store.View, error) {
	return store.View{}, errSync
}
