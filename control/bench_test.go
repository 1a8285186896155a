package control

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// BenchmarkPush is how long it takes from the beginning of a change until
// twenty workers on a real server have applied it, by push.
func BenchmarkPush(b *testing.B) {
	srv := redistest.Start(b)
	const workers = 20
	applied := make(chan uint64, 100*workers)
	for range workers {
		c, err := New(Config{Storage: onRedis(b, srv).Control(0), Apply: func(e Effects) (map[string]string, error) {
			applied <- e.Version
			return nil, nil
		}})
		if err != nil {
			b.Fatal(err)
		}
		go c.Run(b.Context())
	}
	for range workers {
		<-applied
	}
	author, err := New(Config{Storage: onRedis(b, srv).Control(0), Policy: Policy{MaxOverrides: 10_000}})
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	version := uint64(1)
	for b.Loop() {
		began := time.Now()
		res, err := author.Do(b.Context(), create(shed("high"), version))
		if err != nil {
			b.Fatal(err)
		}
		version = res.Version
		for n := 0; n < workers; {
			if <-applied == version {
				n++
			}
		}
		took = append(took, time.Since(began))
		if len(took)%100 == 0 { // not above what people do
			revokeAll(b, author, &version)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
}

func revokeAll(b *testing.B, c *Control, version *uint64) {
	b.Helper()
	for _, o := range c.State().Document.Overrides {
		res, err := c.Do(b.Context(), Change{Action: Revoke, ID: o.ID, Expect: *version, Actor: ann})
		if err != nil {
			b.Fatal(err)
		}
		*version = res.Version
	}
}

// BenchmarkChange is a change of a document that holds many overrides.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{1, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, err := New(Config{Storage: &Memory{}, Policy: Policy{MaxOverrides: 10_000}})
			if err != nil {
				b.Fatal(err)
			}
			version := uint64(1)
			for range n {
				res, err := c.Do(b.Context(), create(shed("high"), version))
				if err != nil {
					b.Fatal(err)
				}
				version = res.Version
			}
			id := c.State().Document.Overrides[0].ID
			for b.Loop() {
				res, err := c.Do(b.Context(), Change{Action: Extend, ID: id, TTL: time.Hour, Expect: version, Actor: ann})
				if err != nil {
					b.Fatal(err)
				}
				version = res.Version
			}
		})
	}
}
