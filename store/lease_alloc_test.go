package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// A decision from a lease allocates nothing, nor does one on a cold key beside
// it pay for leases.
func TestALeaseAllocatesNothing(t *testing.T) {
	f, o, l := newFar(t, 1), store.KeyOf("o"), quota(t, 1<<40)
	w := work(t, f, store.GuardConfig{Budget: time.Second, Leases: store.LeaseConfig{Ahead: time.Second, Lease: 10 * time.Second}})
	defer w.stop()
	b := &store.Batch{ID: store.ID{Lo: 1}, Claims: []store.Claim{{Owner: o, Limit: l, Cost: 1}}, Grants: make([]store.Grant, 1)}
	back := make([]store.Return, 1)
	leased := func() bool { return b.Grants[0].Handle&(1<<63) != 0 }
	ask := func() {
		b.Now = time.Now().UnixNano()
		if err := w.Claim(context.Background(), b); err != nil || !b.Grants[0].OK {
			t.Fatalf("%+v, error %v", b.Grants[0], err)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for ask(); !leased() && time.Now().Before(deadline); ask() {
	}
	both := func() {
		ask()
		back[0] = store.Return{ID: b.ID, Owner: o, Limit: l, Handle: b.Grants[0].Handle, At: b.Now, Now: b.Now, Tokens: 1}
		w.Return(context.Background(), back)
	}
	least := 1e9
	for range 20 { // loans allocate, on other goroutines
		if n := testing.AllocsPerRun(100, both); leased() {
			least = min(least, n)
		}
	}
	if !raceEnabled && least > 0 {
		t.Errorf("%v allocations", least)
	}
}
