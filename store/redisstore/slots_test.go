package redisstore

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// By the server's own clock: a request that runs on keeps its slot as long as
// it is renewed; one whose worker died gives its slot back when its lease ends.
func TestSlotsOfTheLivingAndTheDead(t *testing.T) {
	srv := start(t)
	g := guarded(t, open(t, srv), store.GuardConfig{Budget: time.Second})
	held, err := store.NewSlots("slots", 2, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() *store.Batch {
		b := batchOf("o", held)
		b.Now = time.Now().UnixNano()
		if err := g.Claim(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	living, dead := ask(), ask()
	if !living.Grants[0].OK || !dead.Grants[0].OK || ask().Grants[0].OK {
		t.Fatal("two slots, and not a third")
	}
	ctx, cancel := context.WithCancel(t.Context())
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = g.Renew(ctx, []store.Return{{ID: living.ID, Owner: living.Claims[0].Owner, Limit: held}})
			}
		}
	}()
	var third *store.Batch
	eventually(t, "the slot of the dead comes back", func() bool {
		third = ask()
		return third.Grants[0].OK
	})
	set := open(t, srv).keyOf(living.Claims[0].Owner, held)
	members := srv.do(t, "ZRANGEBYSCORE", set, "("+strconv.FormatInt(time.Now().UnixMicro(), 10), "+inf").([]any)
	member := func(b *store.Batch) bool { return slices.Contains(members, any(string(b.ID.AppendTo(nil)))) }
	if !member(living) || member(dead) || !member(third) {
		t.Errorf("held by the living %t, by the dead %t, by the third %t", member(living), member(dead), member(third))
	}
	cancel()
	<-renewed
	eventually(t, "without renewal the slot of the living comes back too", func() bool { return ask().Grants[0].OK })
	eventually(t, "nothing stays in the server", func() bool { return srv.do(t, "EXISTS", set).(int64) == 0 })
}
