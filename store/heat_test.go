package store

import (
	"testing"
	"time"
)

func TestHeat(t *testing.T) {
	h, now := new(heat), int64(time.Hour)
	ask := func(k Key) (n int64) {
		n, _ = h.asked(k, 1, now)
		return n
	}
	a := Key{1, 1}
	for want := int64(1); want <= 50; want++ {
		if n := ask(a); n != want {
			t.Fatalf("ask %d counts %d", want, n)
		}
	}
	if n, since := h.asked(a, 1, now+heatSpan/2); n != 51 || since != heatSpan/2 {
		t.Errorf("later in the span: %d after %s", n, time.Duration(since))
	}
	now += heatSpan
	if n := ask(a); n != 1 {
		t.Errorf("the next span begins with %d", n)
	}
	b := Key{1<<23 + 1, 1} // the same place, another mark
	for i := range 200 {
		ask(a)
		ask(a)
		if n := ask(b); n > 2 {
			t.Fatalf("round %d: a key asked for once counts %d", i, n)
		}
	}
	if n := ask(a); n < 150 {
		t.Errorf("a key asked for twice as often as the other of its place counts %d after 400 asks", n)
	}
}
