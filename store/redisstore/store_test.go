package redisstore

import (
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/storetest"
)

var begin = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixNano()

func TestContract(t *testing.T) {
	s, w := open(t, start(t)), &watch{now: begin}
	w.wind(s)
	storetest.Run(t, func(*testing.T) storetest.Harness {
		w.mu.Lock() // owners are drawn anew, so nobody sees the clock go back
		w.now = begin
		w.mu.Unlock()
		return storetest.Harness{Driver: s, Advance: w.advance, Now: w.read, Resolution: time.Microsecond}
	})
}

// A server's clock that is set back mints nothing, and blocks for no longer
// than a refill.
func TestClockSetBack(t *testing.T) {
	s, w := open(t, start(t)), &watch{now: begin}
	w.wind(s)
	for _, a := range []store.Algorithm{store.TokenBucket, store.FixedWindow} {
		l, err := store.NewTokens("l", a, limit.Per(5, 5*time.Second), 0)
		if err != nil {
			t.Fatal(err)
		}
		want := func(when string, n int64) {
			t.Helper()
			if got := leftTo(t, s, a.String(), l); got != n {
				t.Errorf("%s, %s: %d left, want %d", a, when, got, n)
			}
		}
		for range 5 {
			claim(t, s, batchOf(a.String(), l))
		}
		w.advance(-time.Hour)
		claim(t, s, batchOf(a.String(), l))
		want("set back", 0)
		claim(t, s, batchOf(a.String(), l))
		w.advance(5 * time.Second)
		want("a refill later", 5)
	}
}
