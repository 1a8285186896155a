package algorithms

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// One decision of one key that uses half of its limit, 1000 a second, on the
// embedded store.
func BenchmarkDecision(b *testing.B) {
	for a := store.TokenBucket; a <= store.LeakyBucket; a++ {
		b.Run(a.String(), func(b *testing.B) {
			l, err := store.NewTokens("bench", a, limit.Per(1000, time.Second), 999)
			if err != nil {
				b.Fatal(err)
			}
			decide(b, l)
		})
	}
	b.Run("quota", func(b *testing.B) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			b.Fatal(err)
		}
		l, err := store.NewQuota("bench", 1e12, limit.Calendar{Unit: limit.Month, Zone: berlin})
		if err != nil {
			b.Fatal(err)
		}
		decide(b, l)
	})
}

func decide(b *testing.B, l *store.Limit) {
	b.Helper()
	m, err := memstore.New(memstore.Config{MaxKeys: 64})
	if err != nil {
		b.Fatal(err)
	}
	claim, now := store.Claim{Owner: store.KeyOf("somebody"), Limit: l, Cost: 1}, begin
	b.ReportAllocs()
	for b.Loop() {
		now += int64(2 * time.Millisecond)
		if g, err := store.ClaimOne(context.Background(), m, claim, now); err != nil || !g.OK {
			b.Fatal(g, err)
		}
	}
}
