package redisstore

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// Units are exact: in a period as many come as its tokens take.
func TestUnitsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := limit.Per(rapid.Int64Range(1, 1e12).Draw(t, "count"), time.Duration(rapid.Int64Range(1, int64(400*24*time.Hour)).Draw(t, "period")))
		l, err := store.NewTokens("l", store.TokenBucket, r, rapid.Int64Range(1, 1e6).Draw(t, "burst"))
		if err != nil {
			return
		}
		terms, err := termsOf(l)
		if err != nil {
			return
		}
		come := product(terms.unit, uint64(r.Period))
		if take := product(terms.interval, uint64(r.Count), 1000); come.Cmp(take) != 0 {
			t.Fatalf("%s: %s come, %s are taken", r, come, take)
		}
		if full := product(terms.interval, uint64(l.Burst)); full.Cmp(product(terms.capacity)) != 0 || terms.capacity > most {
			t.Fatalf("%s: full is %d, want %s", r, terms.capacity, full)
		}
	})
}

func product(factors ...uint64) *big.Int {
	p := big.NewInt(1)
	for _, f := range factors {
		p.Mul(p, new(big.Int).SetUint64(f))
	}
	return p
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		algorithm store.Algorithm
		rate      limit.Rate
		burst     int64
		ok        bool
	}{
		{store.TokenBucket, limit.Per(100, time.Second), 0, true},
		{store.TokenBucket, limit.Per(1_000_000, 24*time.Hour), 0, true},
		{store.TokenBucket, limit.Per(100_003, 24*time.Hour), 0, false},
		{store.TokenBucket, limit.Per(100_003, 24*time.Hour), 100, true},
		{store.FixedWindow, limit.Per(100_003, 24*time.Hour), 0, true},
		{store.FixedWindow, limit.Per(5, time.Millisecond+1), 0, false},
		{store.FixedWindow, limit.Per(1<<53, time.Hour), 0, false},
	} {
		l, err := store.NewTokens("daily", c.algorithm, c.rate, c.burst)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(l); (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "limit daily: ") {
			t.Errorf("%s %s: error %v", c.algorithm, c.rate, err)
		}
	}
}

func TestConfigTellsAllFaults(t *testing.T) {
	_, err := New(Config{URL: "redis://h", Addrs: []string{"a", "b"}, Prefix: "{", Connections: 99, Queue: -1, Patience: time.Millisecond, DB: -1})
	for _, fault := range []string{"either url or addrs", "master", "brace", "connections", "queue", "patience", "db"} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("not told: %s, in %v", fault, err)
		}
	}
	if _, err := New(Config{URL: "http://user:s3cret@host"}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a wrong url: %v", err)
	}
}
