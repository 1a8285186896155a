package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// The limits are far above the load, so that this is the way of what is
// admitted; time advances by a microsecond a decision.

func benchStore(b *testing.B, keys int) (*Store, []store.Key) {
	s, err := New(Config{MaxKeys: max(keys*2, 1<<16)})
	if err != nil {
		b.Fatal(err)
	}
	owners := make([]store.Key, keys)
	for i := range owners {
		owners[i] = store.Key{Hi: rand.Uint64(), Lo: rand.Uint64()}
	}
	return s, owners
}

func benchLimit(b *testing.B, a store.Algorithm) *store.Limit {
	r := limit.Per(1e6, time.Second)
	if a != store.TokenBucket { // the askers' clocks run apart, and a window has no burst to bridge that
		r.Count = 1e15
	}
	l, err := store.NewTokens("bench", a, r, 1e9)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

const benchTick = int64(time.Microsecond)

var benchBegin = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// asker asks for owners in turn, each with the same claims.
type asker struct {
	s     *Store
	batch store.Batch
}

func newAsker(s *Store, limits ...*store.Limit) *asker {
	a := &asker{s: s}
	a.batch.Grants = make([]store.Grant, len(limits))
	for _, l := range limits {
		a.batch.Claims = append(a.batch.Claims, store.Claim{Limit: l, Cost: 1})
	}
	a.batch.Now = benchBegin
	return a
}

func (a *asker) ask(b *testing.B, owner store.Key) {
	a.batch.Now += benchTick
	for i := range a.batch.Claims {
		a.batch.Claims[i].Owner = owner
	}
	if err := a.s.Claim(context.Background(), &a.batch); err != nil || !a.batch.Grants[0].OK {
		b.Fatal(err, a.batch.Grants[0])
	}
}

func benchOne(b *testing.B, keys int, limits ...*store.Limit) {
	s, owners := benchStore(b, keys)
	a := newAsker(s, limits...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i == len(owners) {
			i = 0
		}
		a.ask(b, owners[i])
	}
}

func bench64(b *testing.B, walker func(*rand.Rand) func() int, keys int, limits ...*store.Limit) {
	s, owners := benchStore(b, keys)
	fill := newAsker(s, limits...)
	for _, o := range owners {
		fill.ask(b, o)
	}
	b.ReportAllocs()
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	var seed atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		a, r := newAsker(s, limits...), rand.New(rand.NewPCG(seed.Add(1), 1))
		walk, next := make([]int32, 1<<16), walker(r)
		for i := range walk {
			walk[i] = int32(next())
		}
		for i := uint16(0); pb.Next(); i++ {
			a.ask(b, owners[walk[i]])
		}
	})
}

func BenchmarkHotKey(b *testing.B) {
	for _, a := range []store.Algorithm{store.TokenBucket, store.FixedWindow} {
		l := benchLimit(b, a)
		b.Run(fmt.Sprintf("%s/goroutines=1", a), func(b *testing.B) { benchOne(b, 1, l) })
		b.Run(fmt.Sprintf("%s/goroutines=64", a), func(b *testing.B) { bench64(b, func(*rand.Rand) func() int { return func() int { return 0 } }, 1, l) })
	}
}

// A request as the four stages make it: one to three limits on tokens and a
// slot, asked for in one batch and given back.
func BenchmarkRequest(b *testing.B) {
	slot, err := store.NewSlots("slots", 1000, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	var limits []*store.Limit
	for _, name := range []string{"a", "b", "c"} {
		l, err := store.NewTokens(name, store.TokenBucket, limit.Per(1e6, time.Second), 1e9)
		if err != nil {
			b.Fatal(err)
		}
		limits = append(limits, l)
	}
	for _, n := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("tokens=%d,slots=1", n), func(b *testing.B) {
			s, owners := benchStore(b, 1)
			a := newAsker(s, append(limits[:n:n], slot)...)
			returns := make([]store.Return, 1)
			b.ReportAllocs()
			for b.Loop() {
				a.ask(b, owners[0])
				returns[0] = store.Return{ID: a.batch.ID, Owner: owners[0], Limit: slot, Handle: a.batch.Grants[n].Handle, At: a.batch.Now, Now: a.batch.Now}
				if err := s.Return(context.Background(), returns); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkThousandKeys(b *testing.B) {
	l := benchLimit(b, store.TokenBucket)
	b.Run("goroutines=1", func(b *testing.B) { benchOne(b, 1000, l) })
	b.Run("goroutines=64", func(b *testing.B) {
		bench64(b, func(r *rand.Rand) func() int { return func() int { return r.IntN(1000) } }, 1000, l)
	})
}
func BenchmarkMillionKeysZipf(b *testing.B) {
	const keys = 1_000_000
	bench64(b, func(r *rand.Rand) func() int {
		z := rand.NewZipf(r, 1.1, 1, keys-1)
		return func() int { return int(z.Uint64()) }
	}, keys, benchLimit(b, store.TokenBucket))
}

// BenchmarkMemory fills a store and reports what a key takes, all told, and how
// long a collection takes with all of them.
func BenchmarkMemory(b *testing.B) {
	l := benchLimit(b, store.TokenBucket)
	for _, keys := range []int{100_000, 700_000, 1_000_000, 1_200_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				s, err := New(Config{MaxKeys: 2 * keys})
				if err != nil {
					b.Fatal(err)
				}
				a := newAsker(s, l)
				for n := range uint64(keys) {
					a.batch.Claims[0].Owner = store.Key{Hi: n * 0x9e3779b97f4a7c15, Lo: n}
					if err := s.Claim(context.Background(), &a.batch); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(heap()-before)/float64(keys), "B/key")
				begin := time.Now()
				runtime.GC()
				b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "ms/collection")
				runtime.KeepAlive(s)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
