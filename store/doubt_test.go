package store

import (
	"testing"
	"testing/synctest"
	"time"
)

// A call that failed, and was decided all the same, holds no slot once the
// store is there; its tokens stay charged, for nobody knows of them.
func TestNobodyHoldsASlotByAnErrorsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFaulty()
		g, stop := guarded(t, d, GuardConfig{})
		d.breakBy(errsLate)
		b := both()
		if err := g.Claim(t.Context(), b); err == nil {
			t.Fatal("no error")
		}
		d.breakBy(works)
		<-time.After(time.Second)
		if d.holds(Slots) != 0 || d.holds(Tokens) != 1 {
			t.Errorf("%d slots held, and %d tokens", d.holds(Slots), d.holds(Tokens))
		}
		stop()
	})
}
