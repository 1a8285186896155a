package memstore

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// holder is one slot that is held, beside others of its entry: the only one is
// kept in the entry itself, see alone. It belongs to who has the lock of the entry
// that print names; or it is free, and whoever swaps print has it.
//
// An entry has no list of its holders: to keep one costs each request a few
// cache lines of others, and is of use only when a lease ends. Then all holders
// of the shard are looked through.
type holder struct {
	print   atomic.Uint64 // of the entry; 0 when free
	mark    uint64        // of the request
	expires int64
}

// reserved is the print of a holder that belongs to one goroutine, in no entry.
const reserved = 1 << 63

// holders are the holders of a shard's slots, by number from 1, in blocks that
// never move.
type holders struct{ blocks atomic.Pointer[blocks] }

const blockSize = 64

type (
	blocks []*block
	block  [blockSize]holder
)

func (hs *holders) at(n uint32) *holder {
	return &(*hs.blocks.Load())[n/blockSize][n%blockSize]
}

// known reports whether a number can be at's.
func (hs *holders) known(n uint32) bool {
	blocks := hs.blocks.Load()
	return n != 0 && blocks != nil && int(n/blockSize) < len(*blocks)
}

// nearby is how many holders are looked at where the last one of the same print
// was probably found, and tries how many elsewhere. Where none of so many is
// free, most are taken, and more are made.
const (
	nearby = 4
	tries  = 16
)

// take makes a free holder that of a print, or returns 0 if it finds none. It
// waits for nobody. It looks at first where the print says, which is in the
// processor's cache if the owner was here lately, and then where the mark of
// the request says, so that those who search at once seldom meet.
func (hs *holders) take(print, mark uint64) uint32 {
	blocks := hs.blocks.Load()
	if blocks == nil {
		return 0
	}
	if n := blocks.take(print, near(print), nearby); n != 0 {
		return n
	}
	return blocks.take(print, anywhere(mark), tries)
}

// near and anywhere are where a search begins, as a share of 2^64.
func near(print uint64) uint64    { return print<<(64-printBits) | print }
func anywhere(mark uint64) uint64 { return mark<<(64-markBits) | mark }

// take tries some holders, from a place on that is a share of 2^64.
func (bs blocks) take(print, from uint64, tries int) uint32 {
	which, _ := bits.Mul64(from, uint64(len(bs)))
	b := bs[which]
	for i := range uint64(tries) {
		n := (from + i) % blockSize
		if n |= which * blockSize; n != 0 && b[n%blockSize].print.CompareAndSwap(0, print) {
			return uint32(n)
		}
	}
	return 0
}

// find is take for who looks for the holder that it has. It does not look
// further, so it may miss it, if there are more holders now.
func (bs blocks) find(print, mark, from uint64, tries int) uint32 {
	which, _ := bits.Mul64(from, uint64(len(bs)))
	b := bs[which]
	for i := range uint64(tries) {
		n := (from + i) % blockSize
		if h := &b[n]; h.print.Load() == print && h.mark == mark {
			return uint32(n | which*blockSize)
		}
	}
	return 0
}

// reserve takes a free holder for a request. No lock of an entry may be held:
// it waits for the shard's mutex when there is none.
func (sh *shard) reserve(mark uint64) uint32 {
	for {
		known := sh.holders.blocks.Load()
		if known != nil {
			if n := known.take(reserved, anywhere(mark), tries); n != 0 {
				return n
			}
		}
		sh.moreHolders(known)
	}
}

// release makes a holder free.
func (hs *holders) release(n uint32) { hs.at(n).print.Store(0) }

// moreHolders doubles the holders, unless somebody did so since known was read.
func (sh *shard) moreHolders(known *blocks) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.holders.blocks.Load() != known {
		return
	}
	more := blocks{new(block)}
	if known != nil {
		more = append(*known, make(blocks, len(*known))...)
		for i := range *known {
			more[len(*known)+i] = new(block)
		}
	}
	sh.holders.blocks.Store(&more)
}

// An entry's slots are told by its word, how many are held, and its extra, a
// moment before which none of them expires; while none is held, it is about
// when the last one was given back.
//
// A slot that is held alone needs no holder: its word is alone and the mark of
// its request, and its extra when it expires. So the one slot of a caller that
// sends one request at a time is given back by one swap of the word. When
// another joins it, it gets a holder.
const (
	most     = 1<<31 - 1
	alone    = 1 << 62
	markBits = 62
)

// loner is the number of the holder that a slot held alone would have. In a
// handle more is beside it; see place.
const loner uint32 = 1 << 31

func countOf(word uint64) int64 {
	if word&alone != 0 {
		return 1
	}
	return int64(word)
}

// markOf is what a holder knows of its request.
func (h *hasher) markOf(id store.ID) uint64 {
	return mix(id.Hi^h.seed[0], id.Lo^h.seed[1]) >> (64 - markBits)
}

// unpack makes the word of slots their count; pack undoes it.
func (c *cell) unpack() {
	if c.alone = 0; c.word&alone != 0 {
		c.word, c.alone = 1, c.word
	}
}

func (c *cell) pack() uint64 {
	if c.alone != 0 {
		return c.alone
	}
	return c.word
}

// join makes a reserved holder that of the slot that was held alone.
func (c *cell) join(n uint32) {
	h := c.shard.holders.at(n)
	h.mark, h.expires = c.alone&^alone, c.extra
	h.print.Store(c.print)
	c.alone = 0
}

// link makes a reserved holder one of an entry whose word counts it already.
func (c *cell) link(n uint32, mark uint64, expires int64) {
	h := c.shard.holders.at(n)
	h.mark, h.expires = mark, expires
	h.print.Store(c.print)
	if countOf(c.word) > 1 {
		expires = min(c.extra, expires)
	}
	c.extra = expires
}

// unlink makes a holder free, and takes it out of the count.
func (c *cell) unlink(n uint32) {
	if n == loner {
		c.alone = 0
	} else {
		c.shard.holders.release(n)
	}
	c.word--
}

// prune takes out the holders whose leases have ended, and reports whether it
// changed the cell, which must then be written.
func (c *cell) prune(now int64) bool {
	if now < c.extra || countOf(c.word) == 0 {
		return false
	}
	if c.alone != 0 {
		c.unlink(loner)
		c.extra = now
		return true
	}
	c.extra = math.MaxInt64
	c.search(func(n uint32, h *holder) bool {
		if h.expires <= now {
			c.unlink(n)
		} else {
			c.extra = min(c.extra, h.expires)
		}
		return false
	})
	if countOf(c.word) == 0 {
		c.extra = now
	}
	return true
}

// search shows the holders of the entry until one is found, and returns its
// number or 0.
func (c *cell) search(found func(uint32, *holder) bool) uint32 {
	blocks := c.shard.holders.blocks.Load()
	if blocks == nil {
		return 0
	}
	for i, b := range *blocks {
		for j := range b {
			n := uint32(i*blockSize + j)
			if b[j].print.Load() == c.print && found(n, &b[j]) {
				return n
			}
		}
	}
	return 0
}

// holderOf is the number of a request's holder in the entry, 0 if there is
// none. The number that a grant told is looked at; who was told none, or that
// of a slot that has been joined since, is looked for.
func (c *cell) holderOf(mark uint64, told uint32) uint32 {
	switch {
	case c.alone == alone|mark:
		return loner
	case c.alone != 0 || c.word == 0:
		return 0
	case told == 0 || told&loner != 0:
		return c.lookFor(mark)
	}
	if hs := &c.shard.holders; hs.known(told) {
		if h := hs.at(told); h.print.Load() == c.print && h.mark == mark {
			return told
		}
	}
	return 0
}

// lookFor looks where a holder most probably is, and then at all of the shard.
func (c *cell) lookFor(mark uint64) uint32 {
	blocks := c.shard.holders.blocks.Load()
	if blocks == nil {
		return 0
	}
	n := blocks.find(c.print, mark, near(c.print), nearby)
	if n == 0 {
		n = blocks.find(c.print, mark, anywhere(mark), tries)
	}
	if n == 0 {
		n = c.search(func(_ uint32, h *holder) bool { return h.mark == mark })
	}
	return n
}

func (c *cell) takeSlot(cost int64) limit.Result {
	left := max(0, min(c.limit.Max, most)-countOf(c.word))
	if cost > left {
		return limit.Result{Remaining: left}
	}
	c.word += uint64(cost)
	return limit.Result{OK: true, Remaining: left - cost}
}

func leaseEnd(now int64, l *store.Limit) int64 {
	if now > math.MaxInt64-int64(l.Lease) {
		return math.MaxInt64
	}
	return now + int64(l.Lease)
}
