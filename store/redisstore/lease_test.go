package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// guarded is a guard that runs, around a store of its own, as a worker has it.
func guarded(t testing.TB, s *Store, c store.GuardConfig) *store.Guard {
	t.Helper()
	g := store.NewGuard(s, c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return g
}

// scripts is how many scripts a server has run.
func scripts(t testing.TB, srv *server) (calls int) {
	t.Helper()
	for line := range strings.Lines(srv.do(t, "INFO", "commandstats").(string)) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			_, _ = fmt.Sscanf(rest, "%d", &calls)
		}
	}
	return calls
}

// asker asks a worker's guard as a pipeline does: the look first.
type asker struct {
	g     *store.Guard
	batch *store.Batch
}

func newAsker(g *store.Guard, owner string, l *store.Limit) *asker {
	return &asker{g, batchOf(owner, l)}
}

func (a *asker) ask() (granted bool, err error) {
	a.batch.Now = time.Now().UnixNano()
	c := &a.batch.Claims[0]
	if _, denied := a.g.Denied(c.Owner, c.Limit, c.Cost, a.batch.Now); denied {
		return false, nil
	}
	err = a.g.Claim(context.Background(), a.batch)
	return err == nil && a.batch.Grants[0].OK, err
}

// Workers share a quota on a hot key to the last token, and no further, for a
// small part of the calls.
func TestLeasesShareAQuota(t *testing.T) {
	srv := start(t)
	const all, workers = 30_000, 3
	l, err := store.NewTokens("quota", store.FixedWindow, limit.Per(all, 365*24*time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	guards := make([]*store.Guard, workers)
	for i := range guards {
		guards[i] = guarded(t, open(t, srv), store.GuardConfig{Budget: time.Second})
	}
	eventually(t, "the workers know of each other", func() (know bool) {
		know = true
		for i, g := range guards {
			v, err := g.Sync(t.Context(), store.Report{Worker: fmt.Sprint("w", i), Epoch: 1, Beat: 10 * time.Second, Capacity: 1})
			know = know && err == nil && v.Live == workers
		}
		return know
	})
	before := scripts(t, srv)
	var granted, decided atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(30 * time.Second)
	for i := range 2 * workers {
		group.Go(func() {
			a := newAsker(guards[i%workers], "hot", l)
			for n := 0; granted.Load() < all && time.Now().Before(end); n++ {
				if ok, _ := a.ask(); ok {
					granted.Add(1)
				}
				decided.Add(1)
				if n%8 == 0 {
					<-time.After(100 * time.Microsecond)
				}
			}
		})
	}
	group.Wait()
	calls := scripts(t, srv) - before
	if granted.Load() != all {
		t.Errorf("%d were admitted of %d", granted.Load(), all)
	}
	if int64(calls)*8 > decided.Load() {
		t.Errorf("%d scripts for %d decisions", calls, decided.Load())
	}
	for _, g := range guards {
		if ok, _ := newAsker(g, "hot", l).ask(); ok {
			t.Error("one more is admitted")
		}
		s := g.Leases()
		if s.Lent != s.Spent+s.Returned+s.Void+s.Held {
			t.Errorf("the sums: %+v", s)
		}
	}
	clients := srv.do(t, "CLIENT", "LIST").(string)
	if n := strings.Count(clients, "cmd=evalsha"); n > workers*(2+others) {
		t.Errorf("%d workers have %d connections, want at most %d each:\n%s", workers, n, 2+others, clients)
	}
	t.Logf("%d scripts for %d decisions", calls, decided.Load())
}

// A worker that ends gives back what it holds.
func TestLeasesComeBackAtTheEnd(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 1<<20)
	g := store.NewGuard(s, store.GuardConfig{Budget: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Run(ctx)
	}()
	a, granted := newAsker(g, "o", l), int64(0)
	eventually(t, "tokens are held", func() bool {
		for range 100 {
			if ok, _ := a.ask(); ok {
				granted++
			}
		}
		return g.Leases().Held > 100
	})
	cancel()
	<-done
	refilled := int64(1<<20)/3600 + 1 // a second's worth
	if left := leftTo(t, s, "o", l); left < 1<<20-granted || left > 1<<20-granted+60*refilled {
		t.Errorf("%d left, %d were granted of %d", left, granted, 1<<20)
	}
}

// A loan from a key that holds another program's data fails alone.
func TestLoansOfAWrongType(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 100)
	srv.do(t, "LPUSH", s.keyOf(store.KeyOf("bad"), l), "x")
	loans := []store.Loan{
		{Owner: store.KeyOf("bad"), Limit: l, Want: 5, Parts: 1, Least: 1},
		{Owner: store.KeyOf("good"), Limit: l, Want: 5, Parts: 1, Least: 1},
	}
	if err := s.Lend(t.Context(), loans); err != nil || loans[0].Err == nil || loans[1].Lent != 5 {
		t.Errorf("error %v; %+v", err, loans)
	}
}
