package memstore

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/store"
)

// Config sets a store. The zero value is the default.
type Config struct {
	// MaxKeys is how many keys, each a limit of an owner, are kept at once,
	// 1 … 2^31. One more a limit is kept for those that found no room.
	// Default 1,048,576.
	MaxKeys int
}

// DefaultMaxKeys takes about 40 MB when they are all in use.
const DefaultMaxKeys = 1 << 20

// Store is the embedded driver. Make one with New.
type Store struct {
	hasher   hasher
	shards   []shard // the last one is the overflow
	versions *versions
	maxKeys  int64
	ledger   store.Ledger

	_         [64]byte
	keys      atomic.Int64
	forgotten atomic.Uint64
	spilled   atomic.Uint64
	_         [64]byte
}

var (
	_ store.Driver    = (*Store)(nil)
	_ store.InProcess = (*Store)(nil)
)

// keysPerShard is how many keys a shard is meant for: few enough that the
// replacement of its table, which its decisions wait for, takes some tens of
// microseconds.
const keysPerShard = 4096

// New makes an empty store.
func New(c Config) (*Store, error) {
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	if c.MaxKeys < 1 || c.MaxKeys > 1<<31 {
		return nil, fmt.Errorf("memstore: max keys must be 1 to %d, got %d", 1<<31, c.MaxKeys)
	}
	shards := 1 << min(bits.Len(uint(c.MaxKeys-1)/keysPerShard), shardBits)
	return &Store{
		hasher:   newHasher(shards),
		shards:   make([]shard, shards+1),
		versions: newVersions(),
		maxKeys:  int64(c.MaxKeys),
	}, nil
}

// InProcess marks a driver that answers in nanoseconds.
func (s *Store) InProcess() {}

// Claim decides a batch by its own clock; the context is not needed.
func (s *Store) Claim(_ context.Context, b *store.Batch) error {
	n := len(b.Claims)
	if len(b.Grants) < n {
		return fmt.Errorf("memstore: claim: %d claims need as many grants, got %d", n, len(b.Grants))
	}
	switch {
	case n == 1 && !b.Peek && b.Claims[0].Limit.Kind == store.Tokens && s.decideOne(&b.Claims[0], b.Now, &b.Grants[0]):
		return nil
	case n <= few:
		if !b.Peek && s.grantAll(b) {
			return nil
		}
		return s.decideFew(b)
	case n <= 16:
		var items [16]item
		return s.decide(b, items[:n])
	}
	return s.decide(b, make([]item, n))
}

func (s *Store) decideFew(b *store.Batch) error {
	var items [few]item
	return s.decide(b, items[:len(b.Claims)])
}

// Sync enters a worker's report into the books of the fleet, which is whoever
// shares this store.
func (s *Store) Sync(_ context.Context, r store.Report) (store.View, error) {
	return s.ledger.Sync(r), nil
}

// Stats is what a store holds, and what happened at its bound.
type Stats struct {
	Keys      int64  // kept, those that owe nothing and are not yet forgotten among them; without the shared ones
	MaxKeys   int64  // the bound
	Forgotten uint64 // keys that were dropped because they owed nothing
	Spilled   uint64 // claims decided by the state that the keys without room share
}

// Stats reads the store's figures. Each is true at some moment of the call.
func (s *Store) Stats() Stats {
	return Stats{Keys: s.keys.Load(), MaxKeys: s.maxKeys, Forgotten: s.forgotten.Load(), Spilled: s.spilled.Load()}
}
