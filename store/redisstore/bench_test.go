package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// The claims of a request, by one asker at a time and by many.
func BenchmarkClaim(b *testing.B) {
	srv := start(b)
	s := open(b, srv)
	l, err := store.NewTokens("rate", store.TokenBucket, limit.Per(1e9, time.Second), 1000)
	if err != nil {
		b.Fatal(err)
	}
	for _, limits := range []int{1, 3} {
		list := []*store.Limit{l, slotsOf(b, 1<<40), fixedOf(b)}[:limits]
		for _, askers := range []int{1, 64} {
			b.Run(fmt.Sprintf("limits=%d/askers=%d", limits, askers), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(askers)
				if askers == 1 {
					b.SetParallelism(0)
				}
				srv.do(b, "CONFIG", "RESETSTAT")
				b.RunParallel(func(pb *testing.PB) {
					batch := batchOf(fmt.Sprint("o", serial.Add(1)), list...)
					for pb.Next() {
						if err := s.Claim(context.Background(), batch); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(serverMicroseconds(b, srv)/float64(b.N), "server-us/op")
			})
		}
	}
}

// serverMicroseconds is what scripts have taken of the server.
func serverMicroseconds(b *testing.B, srv *server) (us float64) {
	b.Helper()
	for line := range strings.Lines(srv.do(b, "INFO", "commandstats").(string)) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:"); ok {
			_, rest, _ = strings.Cut(rest, "usec=")
			_, _ = fmt.Sscanf(rest, "%f", &us)
		}
	}
	return us
}

func fixedOf(t testing.TB) *store.Limit {
	t.Helper()
	l, err := store.NewTokens("window", store.FixedWindow, limit.Per(1<<40, time.Second), 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// One hot key behind a guard, asked for by one worker: claim by claim, on
// leases, and on leases so short that a loan is of some sixteen tokens. Paced
// askers ask ten times every 5ms; the others as fast as they are answered. What
// an idle server uses is not counted.
func BenchmarkHotKey(b *testing.B) {
	for _, c := range []struct {
		name   string
		leases store.LeaseConfig
		every  time.Duration
		askers int
	}{
		{"paced/claims", store.LeaseConfig{Off: true}, 5 * time.Millisecond, 1},
		{"paced/leases=10ms", store.LeaseConfig{Ahead: 10 * time.Millisecond}, 5 * time.Millisecond, 1},
		{"paced/leases=100ms", store.LeaseConfig{}, 5 * time.Millisecond, 1},
		{"askers=64/claims", store.LeaseConfig{Off: true}, 0, 64},
		{"askers=1/leases", store.LeaseConfig{}, 0, 1},
		{"askers=64/leases", store.LeaseConfig{}, 0, 64},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkHotKey(b, c.leases, c.every, c.askers) })
	}
}

func benchmarkHotKey(b *testing.B, leases store.LeaseConfig, every time.Duration, askers int) {
	srv := start(b)
	l, err := store.NewTokens("rate", store.TokenBucket, limit.Per(1e9, time.Second), 1e6)
	if err != nil {
		b.Fatal(err)
	}
	g := guarded(b, open(b, srv), store.GuardConfig{Budget: time.Second, Leases: leases})
	var took []int64
	idle := idleCPU(b, srv)
	for warm := newAsker(g, "hot", l); !leases.Off && g.Leases().Held == 0; {
		_, _ = warm.ask()
	}
	before, began, lent := serverCPU(b, srv), scripts(b, srv), g.Leases()
	b.ResetTimer()
	if every > 0 {
		took = pacedAsks(b, newAsker(g, "hot", l), every)
	} else {
		manyAsks(b, askers, func() *asker { return newAsker(g, "hot", l) })
	}
	b.StopTimer()
	n := float64(b.N)
	calls := float64(scripts(b, srv) - began)
	b.ReportMetric(max(0, serverCPU(b, srv)-before-idle*b.Elapsed().Seconds())/n, "server-us/op")
	b.ReportMetric(calls/n, "scripts/op")
	if s := g.Leases(); s.Calls > lent.Calls {
		b.ReportMetric(float64(s.Lent-lent.Lent)/float64(s.Calls-lent.Calls), "tokens/loan")
	}
	if slices.Sort(took); len(took) > 0 {
		b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
		b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
	}
}

// pacedAsks asks at even steps, and tells how long each took.
func pacedAsks(b *testing.B, a *asker, every time.Duration) (took []int64) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range b.N {
		if i%10 == 0 {
			<-tick.C
		}
		begun := time.Now()
		if _, err := a.ask(); err != nil {
			b.Fatal(err)
		}
		took = append(took, int64(time.Since(begun)))
	}
	return took
}

func manyAsks(b *testing.B, askers int, make func() *asker) {
	var group sync.WaitGroup
	for i := range askers {
		group.Go(func() {
			a := make()
			for range (b.N + i) / askers {
				if _, err := a.ask(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// idleCPU is what a server that nobody asks uses, in microseconds a second.
func idleCPU(b *testing.B, srv *server) float64 {
	b.Helper()
	before, begun := serverCPU(b, srv), time.Now()
	<-time.After(500 * time.Millisecond)
	return (serverCPU(b, srv) - before) / time.Since(begun).Seconds()
}

// serverCPU is the processor time that a server has used, in microseconds.
func serverCPU(b *testing.B, srv *server) (us float64) {
	b.Helper()
	for line := range strings.Lines(srv.do(b, "INFO", "cpu").(string)) {
		for _, name := range []string{"used_cpu_sys:", "used_cpu_user:"} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				seconds := 0.0
				_, _ = fmt.Sscanf(rest, "%f", &seconds)
				us += seconds * 1e6
			}
		}
	}
	return us
}
