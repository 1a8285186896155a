package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience doubles while nothing is heard, to eight times what it was, and any
// answer ends that.
func TestPatience(t *testing.T) {
	p := &patience{base: time.Second}
	for i, want := range []time.Duration{1, 2, 4, 8, 8, 8} {
		ctx, cancel := p.context()
		end, _ := ctx.Deadline()
		if left := time.Until(end).Round(time.Second); left != want*time.Second {
			t.Errorf("after %d: %s, want %ds", i, left, want)
		}
		cancel()
		p.heard(context.DeadlineExceeded)
	}
	for _, answer := range []error{nil, errors.New("OOM")} {
		p.silent.Store(5)
		if p.heard(answer); p.silent.Load() != 0 {
			t.Errorf("after %v: silent", answer)
		}
	}
}

// A server that hangs is not offered one connection after another.
func TestHungServerSeesFewConnections(t *testing.T) {
	srv := start(t)
	s, err := New(Config{Addrs: []string{srv.Socket}, Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l := bucketOf(t, 1<<20)
	claim(t, s, batchOf("o", l))
	srv.signal(t, syscall.SIGSTOP)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		b := batchOf("o", l)
		b.Budget = 10 * time.Millisecond
		_ = s.Claim(t.Context(), b)
	}
	srv.signal(t, syscall.SIGCONT)
	seen, err := srv.Admin.Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if n := connectionsIn(seen); n > 24 { // one each 50ms would be 80
		t.Errorf("%d connections in two seconds", n)
	}
}

// connectionsIn reads how many connections a server has seen.
func connectionsIn(info string) (n int) {
	_, rest, _ := strings.Cut(info, "total_connections_received:")
	_, _ = fmt.Sscanf(rest, "%d", &n)
	return n
}
