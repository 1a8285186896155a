package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// contestant is somebody who does a kind of work.
type contestant struct {
	name string
	// start makes what all goroutines share, and returns what makes the work
	// of one goroutine: do is given the index of a key and reports whether it
	// was let pass.
	start func(b *testing.B) (spawn func() (do func(key int) bool))
}

// workload is which keys are asked for, in which order.
type workload struct {
	name  string
	order func() []uint32 // its length is a power of two
	keys  int
}

const million = 1_000_000

var (
	oneKey       = workload{"keys=1", func() []uint32 { return []uint32{0} }, 1}
	thousandKeys = workload{"keys=1k", sync.OnceValue(func() []uint32 { return uniform(1000) }), 1000}
	millionKeys  = workload{"keys=1M", sync.OnceValue(zipf), million}
)

// names are the callers' names. They are made before anything is measured, so
// that to look for one costs nobody a call.
func names() []string { return allNames }

var allNames = func() []string {
	list := make([]string, million)
	for i := range list {
		list[i] = "caller-" + strconv.Itoa(1_000_000+i)
	}
	return list
}()

const orderLength = 1 << 20

func uniform(n uint32) []uint32 {
	r := rand.New(rand.NewPCG(1, 2))
	order := make([]uint32, orderLength)
	for i := range order {
		order[i] = r.Uint32N(n)
	}
	return order
}

// zipf is how callers of an API come: few send much, most send little.
func zipf() []uint32 {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.1, 1, million-1)
	order := make([]uint32, orderLength)
	for i := range order {
		order[i] = uint32(z.Uint64() * 2654435761 % million) // neighbours in rank are none in memory
	}
	return order
}

// contest measures all contestants at all workloads on 1 and on 64 goroutines.
func contest(b *testing.B, works []workload, contestants []contestant) {
	for _, w := range works {
		for _, goroutines := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/g=%d", w.name, goroutines), func(b *testing.B) {
				for _, c := range contestants {
					measure(b, c, w, goroutines)
				}
			})
		}
	}
}

func measure(b *testing.B, c contestant, w workload, goroutines int) {
	var spawn func() func(int) bool // kept over the runs by which the benchmark finds its length
	order := w.order()
	b.Run(c.name, func(b *testing.B) {
		if spawn == nil {
			spawn = c.start(b)
			warm(spawn(), w.keys)
		}
		b.ReportAllocs()
		b.ResetTimer()
		done := cpuTime(b)
		var refused int64
		if goroutines == 1 {
			refused = alone(b, spawn(), order)
		} else {
			refused = crowd(b, spawn, order, goroutines)
		}
		done()
		if refused > 0 {
			b.ReportMetric(100*float64(refused)/float64(b.N), "%refused")
		}
	})
}

// warm meets every key once: how a table grows is another question.
func warm(do func(int) bool, keys int) {
	for key := range keys {
		do(key)
	}
	runtime.GC()
}

func alone(b *testing.B, do func(int) bool, order []uint32) (refused int64) {
	mask := len(order) - 1
	for i := range b.N {
		if !do(int(order[i&mask])) {
			refused++
		}
	}
	return refused
}

func crowd(b *testing.B, spawn func() func(int) bool, order []uint32, goroutines int) int64 {
	var refused, started atomic.Int64
	mask := len(order) - 1
	b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		do := spawn()
		mine := int64(0)
		at := int(started.Add(1)) * 16_411
		for pb.Next() {
			if !do(int(order[at&mask])) {
				mine++
			}
			at++
		}
		refused.Add(mine)
	})
	return refused.Load()
}
