package bench

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// askRedis makes one request of a caller, and reports whether it passed.
type askRedis func(key int) (bool, error)

// redisContestant is somebody who decides on Redis.
type redisContestant struct {
	name  string
	start func(b *testing.B) (spawn func() askRedis)
}

// redisWork is what is asked for, of how many keys and by how many callers.
type redisWork struct {
	name        string
	callers     int
	keys        int
	contestants []redisContestant
}

// The limits are far above the load, and refill slowly, so that a key's state
// is there when it is asked for again.
const (
	redisKeys      = 1000
	holders        = 20_000 // callers who give no slot back: each holds a few at the end
	redisPerSecond = 10
	redisBurst     = 1_000_000
)

// BenchmarkRedis decides on a real server that is started for it, over TCP.
// Client and server share the cores.
func BenchmarkRedis(b *testing.B) {
	for _, w := range []redisWork{
		{"bucket/callers=1", 1, redisKeys, buckets},
		{"bucket/callers=64", 64, redisKeys, buckets},
		{"bucket-and-slot/callers=64", 64, holders, withSlot(1, held)},
		{"three-limits-and-slot/callers=64", 64, holders, withSlot(3, held)},
		{"request/callers=64", 64, redisKeys, withSlot(1, givenBack)},
		{"hot-key/callers=64", 64, 1, hotKeys},
	} {
		b.Run(w.name, func(b *testing.B) {
			for _, c := range w.contestants {
				measureRedis(b, &w, c)
			}
		})
	}
	b.Run("give-back-slot", benchmarkGiveBack)
	b.Run("hot-keys-paced", benchmarkPaced)
	b.Run("fleet", benchmarkFleet)
}

// measureRedis measures one contestant. What it starts lives as long as the
// parent, over the runs by which a benchmark finds its length.
func measureRedis(parent *testing.B, w *redisWork, c redisContestant) {
	parent.Helper()
	var spawn func() askRedis
	parent.Run(c.name, func(b *testing.B) {
		if spawn == nil {
			redisOf(b).Do(b, "FLUSHALL")
			spawn = c.start(parent)
			redisCrowd(b, w.callers, max(w.keys, 20*w.callers), spawn, w.keys) // connections, scripts, and every key
		}
		done := redisCost(b)
		took := redisCrowd(b, w.callers, b.N, spawn, w.keys)
		done(float64(b.N))
		latencies(b, took)
	})
}

// redisCrowd lets callers make n requests in all, and tells how long each took.
func redisCrowd(b *testing.B, callers, n int, spawn func() askRedis, keys int) []uint32 {
	b.Helper()
	took := make([]uint32, n)
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range callers {
		ask := spawn()
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				begun := time.Now()
				ok, err := ask(i * 7919 % keys)
				took[i] = uint32(min(time.Since(begun), time.Second))
				if err != nil || !ok {
					b.Errorf("passed %v, error %v", ok, err)
					return
				}
			}
		})
	}
	group.Wait()
	return took
}

// redisCost reports decisions a second, and what a decision costs the server
// and this process, without what an idle server uses.
func redisCost(b *testing.B) (done func(decisions float64)) {
	b.Helper()
	server := redisOf(b)
	idle := redisIdle()
	b.ReportAllocs()
	before, client := redisUse(server), processTime()
	b.ResetTimer()
	return func(decisions float64) {
		b.StopTimer()
		b.ReportMetric(float64(processTime()-client)/decisions, "cpu-ns/op")
		after, passed := redisUse(server), b.Elapsed().Seconds()
		b.ReportMetric(decisions/passed, "decisions/s")
		b.ReportMetric(max(0, after.cpu-before.cpu-idle*passed)/decisions, "redis-us/op")
	}
}

func latencies(b *testing.B, took []uint32) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1000, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100])/1000, "p99-us")
}
