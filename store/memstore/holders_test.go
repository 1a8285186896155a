package memstore

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// No holder is handed to two at once, and all come back.
func TestReserveIsExclusive(t *testing.T) {
	const goroutines, each = 8, 50_000
	var sh shard
	var owners [8 * blockSize]atomic.Bool
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				a, b := sh.reserve(rand.Uint64()>>2), sh.reserve(rand.Uint64()>>2)
				for _, n := range []uint32{a, b} {
					if n == 0 || owners[n].Swap(true) {
						t.Errorf("holder %d was handed out twice", n)
						return
					}
				}
				for _, n := range []uint32{a, b} {
					owners[n].Store(false)
					sh.holders.release(n)
				}
			}
		})
	}
	wg.Wait()
	blocks := *sh.holders.blocks.Load()
	free := 0
	for _, b := range blocks {
		for i := range b {
			if b[i].print.Load() == 0 {
				free++
			}
		}
	}
	if free != len(blocks)*blockSize || len(blocks) > 2 {
		t.Errorf("%d holders are free in %d blocks", free, len(blocks))
	}
}
