package store

import (
	"sync/atomic"
	"time"
)

// block is tokens that the store lent, and what has become of them. The key's
// mutex guards it.
type block struct {
	key    *hotKey
	serial uint64 // of all blocks of a guard; what was spent of it is known by it
	handle uint64 // the driver's
	at     int64  // when it was asked for, by this worker's clock
	until  int64  // when what is not spent goes back
	size   int64
	left   int64 // not spent, and not given back to the store
	back   int64 // given back to the store
	over   bool  // not spent of any more
}

// remembered is how many blocks a guard remembers, of all keys, to know what a
// late refund was spent of. A key needs some ten to fifteen a second.
const remembered = 2048

// memory finds blocks by their serials, the last ones only.
type memory [remembered]atomic.Pointer[block]

func (m *memory) keep(b *block) { m[b.serial%remembered].Store(b) }

func (m *memory) find(handle uint64) *block {
	serial := handle &^ leased
	if b := m[serial%remembered].Load(); b != nil && b.serial == serial {
		return b
	}
	return nil
}

// leased marks the handles of grants from memory; the rest is the block's serial.
const leased = 1 << 63

// live reports whether a block may be spent at a moment. One of the future was
// asked for before the clock was set back.
func (b *block) live(now int64, lease time.Duration) bool {
	return b != nil && b.left > 0 && now < b.until && b.at-now < int64(lease)
}

// giveBack takes back what a request spent of a block. What the block is too
// old for, or is more than may be held, is to be returned to the store.
func (b *block) giveBack(tokens, now int64, lease time.Duration) (ret Return, due bool) {
	k := b.key
	k.mu.Lock()
	defer k.mu.Unlock()
	tokens = min(tokens, b.size-b.left-b.back)
	if tokens <= 0 {
		return ret, false
	}
	k.tally.Spent -= tokens
	b.left += tokens
	if !b.over && b.live(now, lease) && k.held(now, lease) <= k.most {
		return ret, false
	}
	return k.toStore(b, tokens, now), true
}
