package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		algorithm store.Algorithm
		rate      limit.Rate
		burst     int64
		ok        bool
	}{
		{store.TokenBucket, limit.Per(100, time.Second), 0, true},
		{store.TokenBucket, limit.Per(1_000_000, 24*time.Hour), 0, true},
		{store.TokenBucket, limit.Per(100_003, 24*time.Hour), 0, true},
		{store.TokenBucket, limit.Per(999_999_937, 400*24*time.Hour), 0, false},
		{store.TokenBucket, limit.Per(1<<60, time.Second), 1, false},
		{store.Algorithm(7), limit.Per(1, time.Second), 1, false},
		{store.TokenBucket, limit.Per(100_003, 24*time.Hour), 100, true},
		{store.FixedWindow, limit.Per(100_003, 24*time.Hour), 0, true},
		{store.FixedWindow, limit.Per(5, time.Millisecond+1), 0, false},
		{store.FixedWindow, limit.Per(1<<53, time.Hour), 0, false},
	} {
		l, err := store.NewTokens("daily", min(c.algorithm, store.FixedWindow), c.rate, c.burst)
		if err != nil {
			t.Fatal(err)
		}
		l.Algorithm = c.algorithm
		if err := Check(l); (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "limit daily: ") {
			t.Errorf("algorithm %d, %s: error %v", c.algorithm, c.rate, err)
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

func TestCalendarIsRefused(t *testing.T) {
	l := fixedOf(t)
	l.Window.Calendar.Unit = limit.NoUnit + 1
	if Check(l) == nil {
		t.Error("a window of a calendar passes for one of a fixed length")
	}
}
