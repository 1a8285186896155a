package memstore

import (
	"math/bits"
	"math/rand/v2"

	"github.com/plimsoll-go/plimsoll/store"
)

// key is where the state of one limit of one owner lies. The print has 48 bits,
// is never 0, tells the keys of a shard apart, and is the place in its table.
type key struct {
	shard uint64
	print uint64
}

// hasher makes keys. It is seeded, so that nobody can aim at one shard or make
// two keys collide; that two of a million keys collide by chance happens to one
// process of 70,000, if each owner has two.
type hasher struct {
	seed [4]uint64
	mask uint64 // of the shard, at most shardBits
}

func newHasher(shards int) (h hasher) {
	for i := range h.seed {
		h.seed[i] = rand.Uint64()
	}
	h.mask = uint64(shards - 1)
	return h
}

func (h *hasher) key(owner store.Key, limit uint64) key { return h.keyOf(h.who(owner), limit) }

// who is what an owner's keys have in common. It is mixed twice, because owners
// may be as near to each other as addresses are: after one mixing a seed in
// some hundreds leaves shards empty.
func (h *hasher) who(owner store.Key) uint64 {
	const odd = 0x9e3779b97f4a7c15
	return mix(mix(owner.Hi^h.seed[0], owner.Lo^h.seed[1])^h.seed[2], odd)
}

func (h *hasher) keyOf(who, limit uint64) key {
	what := mix(who^h.seed[2], limit^h.seed[3])
	return key{shard: who & h.mask, print: max(who>>(64-nearBits)<<(printBits-nearBits)|what>>(64-printBits+nearBits), 1)}
}

// A print's first bits are the owner's: what one request asks for lies in one
// shard, and in one place of its table, and is fetched at once.
const (
	printBits = 48
	nearBits  = 12
	shardBits = 16
)

// overflow is the key that the keys of a limit share when there is no room. It
// is in the last shard, which has nothing else and is not bounded.
func (h *hasher) overflow(limit uint64) key {
	k := h.key(store.Key{}, limit)
	k.shard = h.mask + 1
	return k
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
