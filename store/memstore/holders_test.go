package memstore

import (
	"sync"
	"sync/atomic"
	"testing"
)

// No holder is handed to two at once, and all come back.
func TestReserveIsExclusive(t *testing.T) {
	const goroutines, each = 8, 50_000
	var sh shard
	var owners [goroutines * blockSize]atomic.Bool
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				a, b := sh.reserve(), sh.reserve()
				for _, n := range []uint32{a, b} {
					if n == 0 || owners[n].Swap(true) {
						t.Errorf("holder %d was handed out twice", n)
						return
					}
				}
				for _, n := range []uint32{a, b} {
					owners[n].Store(false)
					sh.holders.release(n, n)
				}
			}
		})
	}
	wg.Wait()
	free := 0
	for n := uint32(sh.holders.free.Load()); n != 0; n = sh.holders.at(n).next.Load() {
		free++
	}
	if blocks := len(*sh.holders.blocks.Load()); free != blocks*blockSize-1 || blocks > 1 {
		t.Errorf("%d holders are free in %d blocks, of which number 0 is nobody's", free, blocks)
	}
}
