package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// ourStore is a store with the settings that it comes with.
func ourStore(b *testing.B) *redisstore.Store {
	b.Helper()
	s, err := redisstore.New(redisstore.Config{Addrs: []string{redisOf(b).Addr}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// guarded is a store as a pipeline asks it, with the guard's background work.
// It may take as long as it needs: an answer that is too late would be no
// decision, and the rivals wait too.
func guarded(b *testing.B, leases store.LeaseConfig) *store.Guard {
	b.Helper()
	g := store.NewGuard(ourStore(b), store.GuardConfig{Budget: time.Second, Leases: leases})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Run(ctx)
	}()
	b.Cleanup(func() { cancel(); <-done })
	return g
}

// tokensOf is a limit on tokens.
func tokensOf(b *testing.B, name string, a store.Algorithm, r limit.Rate) *store.Limit {
	b.Helper()
	burst := int64(redisBurst)
	if a == store.FixedWindow {
		burst = 0
	}
	l, err := store.NewTokens(name, a, r, burst)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func bucketOf(b *testing.B) *store.Limit {
	b.Helper()
	return tokensOf(b, "rate", store.TokenBucket, limit.Per(redisPerSecond, time.Second))
}

func slotsOf(b *testing.B) *store.Limit {
	b.Helper()
	l, err := store.NewSlots("slots", redisBurst, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// requestsTo are requests that a pipeline would make: the look first, then all
// claims in one batch, with an id of their own; a slot is the last of them, and
// goes back through the guard's queue.
func requestsTo(g *store.Guard, use slotUse, limits ...*store.Limit) func() askRedis {
	return func() askRedis {
		batch := &store.Batch{Claims: make([]store.Claim, len(limits)), Grants: make([]store.Grant, len(limits))}
		for i, l := range limits {
			batch.Claims[i] = store.Claim{Limit: l, Cost: 1}
		}
		var denial store.Grant
		back := make([]store.Return, 1)
		return func(key int) (bool, error) {
			for i := range batch.Claims {
				batch.Claims[i].Owner = keys()[key]
			}
			batch.ID, batch.Now = store.ID{Hi: rand.Uint64(), Lo: rand.Uint64()}, time.Now().UnixNano()
			if _, denied := g.DeniedAny(batch.Claims, batch.Now, &denial); denied {
				return false, nil
			}
			if err := g.Claim(context.Background(), batch); err != nil {
				return false, err
			}
			for i := range batch.Grants {
				if !batch.Grants[i].OK {
					return false, nil
				}
			}
			if use == givenBack {
				slot := &batch.Claims[len(limits)-1]
				back[0] = store.Return{ID: batch.ID, Owner: slot.Owner, Limit: slot.Limit, Tokens: 1, At: batch.Now, Now: time.Now().UnixNano()}
				g.Return(context.Background(), back)
			}
			return true, nil
		}
	}
}

func ourBucketOnRedis(b *testing.B) func() askRedis {
	b.Helper()
	return requestsTo(guarded(b, store.LeaseConfig{Off: true}), held, bucketOf(b))
}

// ourLimitsAndSlot are one bucket, or two and a fixed window, and a slot.
func ourLimitsAndSlot(limits int, use slotUse) func(b *testing.B) func() askRedis {
	return func(b *testing.B) func() askRedis {
		b.Helper()
		list := []*store.Limit{
			bucketOf(b),
			tokensOf(b, "minute", store.TokenBucket, limit.Per(600, time.Minute)),
			tokensOf(b, "quota", store.FixedWindow, limit.Per(redisBurst, 24*time.Hour)),
		}[:limits]
		return requestsTo(guarded(b, store.LeaseConfig{Off: true}), use, append(list, slotsOf(b))...)
	}
}

// hotLimit is so wide that a hot key's worker may have its blocks.
func hotLimit(b *testing.B) *store.Limit {
	b.Helper()
	return tokensOf(b, "hot", store.TokenBucket, limit.Per(100_000_000, time.Second))
}

// ourHotKey waits until the key is leased: how it gets there is another question.
func ourHotKey(b *testing.B) func() askRedis {
	b.Helper()
	g := guarded(b, store.LeaseConfig{})
	spawn := requestsTo(g, held, hotLimit(b))
	leaseAll(b, g, spawn(), 1)
	return spawn
}

// leaseAll asks until so many keys are leased.
func leaseAll(b *testing.B, g *store.Guard, ask askRedis, keys int64) {
	b.Helper()
	for end := time.Now().Add(10 * time.Second); g.Leases().Held < keys; {
		for key := range keys {
			if _, err := ask(int(key)); err != nil {
				b.Fatal(err)
			}
		}
		if time.Now().After(end) {
			b.Fatalf("after 10s of asking %d of %d keys are leased", g.Leases().Held, keys)
		}
	}
}

// benchmarkPaced asks for hot keys at an even rate: 2,000 requests a second of
// each of 8 keys. A loan is then of some 20 tokens, or of 200 with the default.
func benchmarkPaced(parent *testing.B) {
	const hot, burst, every = 8, 10, 5 * time.Millisecond
	for _, c := range []struct {
		name  string
		ahead time.Duration
	}{{ours, 0}, {"plimsoll-small-blocks", 10 * time.Millisecond}} {
		var g *store.Guard
		var ask askRedis
		parent.Run(c.name, func(b *testing.B) {
			if g == nil {
				g = guarded(parent, store.LeaseConfig{Ahead: c.ahead})
				ask = requestsTo(g, held, hotLimit(parent))()
				leaseAll(b, g, ask, hot)
			}
			pace := func(n int) []uint32 { return paced(b, ask, n, hot, hot*burst, every) }
			pace(2 * hot * burst * int(100*time.Millisecond/every)) // until the rate is known
			done, before := redisCost(b), g.Leases()
			took := pace(b.N)
			done(float64(b.N))
			latencies(b, took)
			if s := g.Leases(); s.Calls > before.Calls {
				b.ReportMetric(float64(s.Lent-before.Lent)/float64(s.Calls-before.Calls), "tokens/call")
			}
		})
	}
}

// paced makes n requests, so many at once, at even steps.
func paced(b *testing.B, ask askRedis, n, keys, atOnce int, every time.Duration) []uint32 {
	b.Helper()
	took := make([]uint32, n)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range n {
		if i%atOnce == 0 {
			<-tick.C
		}
		begun := time.Now()
		if _, err := ask(i % keys); err != nil {
			b.Fatal(err)
		}
		took[i] = uint32(time.Since(begun))
	}
	return took
}

// benchmarkGiveBack gives slots back: ours as the guard's queue does, many in
// one pipeline, beside a ZREM by each of 64 callers.
func benchmarkGiveBack(b *testing.B) {
	b.Run(ours, func(b *testing.B) {
		s, l := ourStore(b), slotsOf(b)
		slots := holdSlots(b, s, l, b.N)
		done := redisCost(b)
		for i := 0; i < b.N; i += 64 {
			if err := s.Return(context.Background(), slots[i:min(b.N, i+64)]); err != nil {
				b.Fatal(err)
			}
		}
		done(float64(b.N))
	})
	b.Run("zrem", func(b *testing.B) {
		client, hold := goRedis(b), all(evalshaSlot(held))(b)
		redisCrowd(b, 64, min(b.N, 10*redisKeys), hold, redisKeys)
		done := redisCost(b)
		took := redisCrowd(b, 64, b.N, func() askRedis {
			return func(key int) (bool, error) {
				err := client.ZRem(context.Background(), names()[key]+"/slots", "some-member-of-the-set").Err()
				return err == nil, err
			}
		}, redisKeys)
		done(float64(b.N))
		latencies(b, took)
	})
}

// holdSlots takes n slots of 1,000 callers, unmeasured.
func holdSlots(b *testing.B, s *redisstore.Store, l *store.Limit, n int) []store.Return {
	b.Helper()
	redisOf(b).Do(b, "FLUSHALL")
	held := make([]store.Return, n)
	for i := range held {
		held[i] = store.Return{ID: store.ID{Hi: uint64(i), Lo: rand.Uint64()}, Owner: keys()[i%redisKeys], Limit: l}
	}
	redisCrowd(b, 64, n, func() askRedis {
		batch := &store.Batch{Claims: make([]store.Claim, 1), Grants: make([]store.Grant, 1)}
		return func(i int) (bool, error) {
			batch.ID, batch.Claims[0] = held[i].ID, store.Claim{Owner: held[i].Owner, Limit: l, Cost: 1}
			err := s.Claim(context.Background(), batch)
			return err == nil && batch.Grants[0].OK, err
		}
	}, n)
	return held
}

// benchmarkFleet is what the share of a fleet costs Redis: ours a heartbeat each
// half second, reckoned over the requests of a worker at 500 requests a second;
// beside it the set of the requests in flight, entered and left by each.
func benchmarkFleet(b *testing.B) {
	const workers, requests = 8, 250 // between two heartbeats
	b.Run(ours, func(b *testing.B) {
		g := guarded(b, store.LeaseConfig{Off: true})
		beat := func(n int) {
			for i := range n {
				r := store.Report{Worker: fmt.Sprint("w", i%workers), Epoch: 1, Beat: store.DefaultBeat, Capacity: 100}
				if _, err := g.Sync(context.Background(), r); err != nil {
					b.Fatal(err)
				}
			}
		}
		beat(2 * workers)
		calls, done := redisCalls(b), redisCost(b)
		beat(b.N)
		done(float64(b.N) * requests)
		b.ReportMetric(calls()/float64(b.N)/requests, "calls/op")
	})
	b.Run("set-of-requests", func(b *testing.B) {
		client, hold := goRedis(b), all(evalshaSlot(held))(b)()
		calls, done := redisCalls(b), redisCost(b)
		redisCrowd(b, 64, b.N, func() askRedis {
			return func(int) (bool, error) {
				if ok, err := hold(0); err != nil || !ok {
					return ok, err
				}
				err := client.ZRem(context.Background(), names()[0]+"/slots", "some-member-of-the-set").Err()
				return err == nil, err
			}
		}, 1)
		done(float64(b.N))
		b.ReportMetric(calls()/float64(b.N), "calls/op")
	})
}

// redisCalls counts the commands that clients send from now on.
func redisCalls(b *testing.B) (since func() float64) {
	b.Helper()
	server := redisOf(b)
	before := redisUse(server)
	return func() float64 { return redisUse(server).calls - before.calls }
}
