package redisstore

import (
	"context"
	"fmt"
	"strings"
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
				b.ReportMetric(serverMicroseconds(b, srv), "server-us/op")
			})
		}
	}
}

// serverMicroseconds is what a script takes of the server.
func serverMicroseconds(b *testing.B, srv *server) (us float64) {
	b.Helper()
	for line := range strings.Lines(srv.do(b, "INFO", "commandstats").(string)) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:"); ok {
			_, rest, _ = strings.Cut(rest, "usec_per_call=")
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
