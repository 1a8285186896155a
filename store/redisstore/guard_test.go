package redisstore

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// Behind the guard a server that hangs is a state: who asks goes on within the
// budget, the guard stops asking, and when the server is back it is asked again.
func TestBehindTheGuard(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 1<<20)
	g := store.NewGuard(s, store.GuardConfig{Budget: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Run(ctx)
	}()
	eventually(t, "a claim passes", func() bool { return g.Claim(t.Context(), batchOf("o", l)) == nil })
	srv.signal(t, syscall.SIGSTOP)
	eventually(t, "the store is down", func() bool {
		if err := g.Claim(t.Context(), batchOf("o", l)); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("a hung server: error %v", err)
		}
		return g.Stats().State == store.Down
	})
	srv.signal(t, syscall.SIGCONT)
	eventually(t, "the store is there", func() bool {
		_ = g.Claim(t.Context(), batchOf("o", l))
		return g.Stats().State == store.OK
	})
	eventually(t, "a claim passes", func() bool { return g.Claim(t.Context(), batchOf("new", l)) == nil })
	cancel()
	<-done
}
