package memstore

import (
	"math"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// holder is one slot that is held. It is in the list of one entry, and belongs
// to who has that entry's lock; or it is free, or reserved by one goroutine.
type holder struct {
	mark    atomic.Uint64 // of the request and the entry; 0 when not in a list
	expires int64
	next    atomic.Uint32 // of the list, or of the free ones; 0 ends it
	prev    uint32
}

// holders are the holders of a shard's slots, by number from 1, in blocks that
// never move. Those that are free form a stack; its head carries a tag, so
// that a head that was taken and put back is not taken for the same.
type holders struct {
	blocks atomic.Pointer[[]*block]
	free   atomic.Uint64 // tag<<32 | number of the first
}

const blockSize = 64

type block [blockSize]holder

func (hs *holders) at(n uint32) *holder {
	return &(*hs.blocks.Load())[n/blockSize][n%blockSize]
}

// known reports whether a number can be at's.
func (hs *holders) known(n uint32) bool {
	blocks := hs.blocks.Load()
	return n != 0 && blocks != nil && int(n/blockSize) < len(*blocks)
}

// reserve takes a free holder. No lock of an entry may be held: it waits for
// the shard's mutex when there is none.
func (sh *shard) reserve() uint32 {
	for {
		head := sh.holders.free.Load()
		n := uint32(head)
		if n == 0 {
			sh.moreHolders()
			continue
		}
		next := sh.holders.at(n).next.Load()
		if sh.holders.free.CompareAndSwap(head, (head>>32+1)<<32|uint64(next)) {
			return n
		}
	}
}

// release puts the holders from first to last, which are linked, on the stack.
func (hs *holders) release(first, last uint32) {
	for {
		head := hs.free.Load()
		hs.at(last).next.Store(uint32(head))
		if hs.free.CompareAndSwap(head, (head>>32+1)<<32|uint64(first)) {
			return
		}
	}
}

func (sh *shard) moreHolders() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if uint32(sh.holders.free.Load()) != 0 {
		return
	}
	var blocks []*block
	if old := sh.holders.blocks.Load(); old != nil {
		blocks = *old
	}
	first := uint32(len(blocks)) * blockSize
	fresh := new(block)
	for i := range uint32(blockSize - 1) {
		fresh[i].next.Store(first + i + 1)
	}
	blocks = append(blocks, fresh)
	sh.holders.blocks.Store(&blocks)
	sh.holders.release(max(first, 1), first+blockSize-1) // number 0 is nobody
}

// An entry's list of holders is told by its word, count<<32 | first number,
// and its extra, a moment before which none of them expires; without holders
// it is when the last one left.
const most = 1<<31 - 1

func countOf(word uint64) int64 { return int64(word >> 32) }

func firstOf(word uint64) uint32 { return uint32(word) }

// markOf tells the slots that a request holds of different limits apart.
func (h *hasher) markOf(id store.ID, print uint64) uint64 {
	return max(mix(mix(id.Hi^h.seed[0], id.Lo^h.seed[1])^h.seed[2], print^h.seed[3]), 1)
}

// link puts a reserved holder into the list of an entry whose word counts it
// already.
func (c *cell) link(n uint32, mark uint64, expires int64) {
	hs := &c.shard.holders
	h, first := hs.at(n), firstOf(c.word)
	h.expires, h.prev = expires, 0
	h.next.Store(first)
	h.mark.Store(mark)
	if first != 0 {
		hs.at(first).prev = n
	} else {
		c.extra = math.MaxInt64
	}
	c.word = c.word&^math.MaxUint32 | uint64(n)
	c.extra = min(c.extra, expires)
}

// unlink takes a holder out of the list, and out of the count.
func (c *cell) unlink(n uint32) {
	hs := &c.shard.holders
	h := hs.at(n)
	h.mark.Store(0)
	next := h.next.Load()
	if next != 0 {
		hs.at(next).prev = h.prev
	}
	if h.prev != 0 {
		hs.at(h.prev).next.Store(next)
	} else {
		c.word = c.word&^math.MaxUint32 | uint64(next)
	}
	c.word -= 1 << 32
	hs.release(n, n)
}

// prune takes out the holders whose leases have ended, and reports whether it
// changed the cell, which must then be written.
func (c *cell) prune(now int64) bool {
	if now < c.extra || firstOf(c.word) == 0 {
		return false
	}
	c.extra = math.MaxInt64
	for n := firstOf(c.word); n != 0; {
		h := c.shard.holders.at(n)
		next := h.next.Load()
		if h.expires <= now {
			c.unlink(n)
		} else {
			c.extra = min(c.extra, h.expires)
		}
		n = next
	}
	if countOf(c.word) == 0 {
		c.extra = now
	}
	return true
}

// holderOf is the number of a request's holder in the list, 0 if there is none.
// The number that a grant told is tried first; without one the list is searched.
func (c *cell) holderOf(mark uint64, told uint32) uint32 {
	hs := &c.shard.holders
	if told != 0 {
		if hs.known(told) && hs.at(told).mark.Load() == mark {
			return told
		}
		return 0
	}
	n := firstOf(c.word)
	for n != 0 && hs.at(n).mark.Load() != mark {
		n = hs.at(n).next.Load()
	}
	return n
}

func (c *cell) takeSlot(cost int64) limit.Result {
	left := max(0, min(c.limit.Max, most)-countOf(c.word))
	if cost > left {
		return limit.Result{Remaining: left}
	}
	c.word += uint64(cost) << 32
	return limit.Result{OK: true, Remaining: left - cost}
}

func leaseEnd(now int64, l *store.Limit) int64 {
	if now > math.MaxInt64-int64(l.Lease) {
		return math.MaxInt64
	}
	return now + int64(l.Lease)
}
