package redisstore

import (
	"testing"
	"time"

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
