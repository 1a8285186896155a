package store

import (
	"testing"
	"testing/synctest"
	"time"
)

// A store that is not there when the process starts is down before anybody has
// asked, and is found when it comes; one that is there is asked once, and then
// left alone until somebody asks.
func TestTheStoreIsSoughtAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty()
		f.breakBy(errs)
		g, stop := guarded(t, f, GuardConfig{})
		defer stop()
		time.Sleep(time.Second)
		if got := g.State(); got != Down {
			t.Fatalf("a second after the start without a store: %v", got)
		}
		f.breakBy(works)
		time.Sleep(3 * time.Second)
		if got := g.State(); got != OK {
			t.Fatalf("three seconds after it came: %v", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty()
		g, stop := guarded(t, f, GuardConfig{})
		defer stop()
		time.Sleep(10 * time.Second)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.claims != 1 || g.State() != OK {
			t.Errorf("asked %d times, state %v", f.claims, g.State())
		}
	})
}

// A store that is lost while nobody asks is missed by the heartbeat.
func TestAHeartbeatMissesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty()
		g, stop := guarded(t, f, GuardConfig{})
		defer stop()
		time.Sleep(time.Second)
		f.breakBy(errs)
		time.Sleep(time.Second)
		if _, err := g.Sync(t.Context(), Report{}); err == nil || g.State() != OK {
			t.Fatalf("error %v, state %v", err, g.State())
		}
		time.Sleep(time.Second)
		if got := g.State(); got != Down {
			t.Errorf("a second after a heartbeat that failed: %v", got)
		}
	})
}
