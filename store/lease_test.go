package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// far is the embedded store at a distance: it answers after a while, and lends.
type far struct {
	inner *memstore.Store
	near  atomic.Bool // answers at once

	mu     sync.Mutex
	err    error
	live   int
	claims int // calls
	lends  int // calls that were answered
	asked  int // calls for loans
}

func newFar(t testing.TB, live int) *far {
	t.Helper()
	inner, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &far{inner: inner, live: live}
}

// travel is the way to the store and back.
func (f *far) travel() {
	if !f.near.Load() {
		<-time.After(300 * time.Microsecond)
	}
}

var errFar = errors.New("far: broken")

func (f *far) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *far) Claim(ctx context.Context, b *store.Batch) error {
	f.travel()
	f.mu.Lock()
	defer f.mu.Unlock()
	if b.Claims[0].Limit.Name != "plimsoll-canary" {
		f.claims++
	}
	if f.err != nil {
		return f.err
	}
	return f.ask(ctx, b)
}

// ask decides by the store's own clock.
func (f *far) ask(ctx context.Context, b *store.Batch) error {
	own := *b
	own.Now = time.Now().UnixNano()
	return f.inner.Claim(ctx, &own)
}

func (f *far) Lend(ctx context.Context, loans []store.Loan) error {
	f.mu.Lock()
	f.asked++
	f.mu.Unlock()
	f.travel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lends++
	if f.err != nil {
		return f.err
	}
	for i := range loans {
		l := &loans[i]
		b := store.Batch{Claims: []store.Claim{{Owner: l.Owner, Limit: l.Limit}}, Grants: make([]store.Grant, 1)}
		if err := f.ask(ctx, &b); err != nil {
			return err
		}
		if l.Lent = min(l.Want, b.Grants[0].Remaining/l.Parts); l.Lent < l.Least {
			l.Lent = 0
		}
		b.Claims[0].Cost = l.Lent
		if err := f.ask(ctx, &b); err != nil {
			return err
		}
		l.Grant = b.Grants[0]
	}
	return nil
}

func (f *far) Return(ctx context.Context, returns []store.Return) error {
	f.travel()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	return f.inner.Return(ctx, returns)
}

func (f *far) Renew(ctx context.Context, held []store.Return) error { return f.inner.Renew(ctx, held) }

func (f *far) Sync(context.Context, store.Report) (store.View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return store.View{Live: f.live}, f.err
}

// calls is how many claims and loans were asked for.
func (f *far) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.claims + f.lends
}

// left is what the store has of a limit.
func (f *far) left(t testing.TB, o store.Key, l *store.Limit) int64 {
	t.Helper()
	b := store.Batch{Peek: true, Claims: []store.Claim{{Owner: o, Limit: l}}, Grants: make([]store.Grant, 1)}
	if err := f.ask(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Grants[0].Remaining
}

// worker is a guard that runs.
type worker struct {
	*store.Guard
	t    testing.TB
	stop func()
}

func work(t testing.TB, d store.Driver, c store.GuardConfig) *worker {
	t.Helper()
	g := store.NewGuard(d, c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Run(ctx)
	}()
	if _, err := g.Sync(ctx, store.Report{}); err != nil {
		t.Fatal(err)
	}
	return &worker{g, t, func() { cancel(); <-done }}
}

// claim asks for some claims.
func (w *worker) claim(claims ...store.Claim) *store.Batch {
	w.t.Helper()
	b := &store.Batch{ID: store.ID{Lo: rand.Uint64()}, Now: time.Now().UnixNano(), Claims: claims, Grants: make([]store.Grant, len(claims))}
	if err := w.Claim(context.Background(), b); err != nil {
		w.t.Fatalf("claim: %v", err)
	}
	return b
}

func (w *worker) take(o store.Key, l *store.Limit, cost int64) store.Grant {
	w.t.Helper()
	return w.claim(store.Claim{Owner: o, Limit: l, Cost: cost}).Grants[0]
}

// giveBack returns tokens of one claim of a batch.
func (w *worker) giveBack(b *store.Batch, i int, tokens int64) {
	c := &b.Claims[i]
	w.Return(context.Background(), []store.Return{{ID: b.ID, Owner: c.Owner, Limit: c.Limit, Handle: b.Grants[i].Handle, At: b.Now, Now: time.Now().UnixNano(), Tokens: tokens}})
}

// heat asks for a key a thousand times a second until it is leased, and gives
// the number of tokens that were spent.
func (w *worker) heat(o store.Key, l *store.Limit) (spent int64) {
	w.t.Helper()
	for range 2000 {
		if w.Leases().Held >= 40 {
			return spent
		}
		if w.take(o, l, 1).OK {
			spent++
		}
		<-time.After(time.Millisecond)
	}
	w.t.Fatalf("a key that is asked for a thousand times a second is not leased: %+v", w.Leases())
	return 0
}

// sums checks that all that was lent is accounted for.
func (w *worker) sums() store.LeaseStats {
	w.t.Helper()
	s := w.Leases()
	if s.Lent != s.Spent+s.Returned+s.Void+s.Held {
		w.t.Errorf("of %d tokens lent, %d are spent, %d returned, %d void and %d held", s.Lent, s.Spent, s.Returned, s.Void, s.Held)
	}
	return s
}

func tokens(t testing.TB, a store.Algorithm, n int64, period time.Duration) *store.Limit {
	t.Helper()
	l, err := store.NewTokens("hot", a, limit.Per(n, period), 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A day's quota, so that nothing refills while a test looks.
func quota(t testing.TB, n int64) *store.Limit { return tokens(t, store.FixedWindow, n, 24*time.Hour) }

func TestAHotKeyIsServedFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, l := newFar(t, 1), store.KeyOf("o"), quota(t, 1e6)
		w := work(t, f, store.GuardConfig{})
		spent := w.heat(o, l)
		before, begun := f.calls(), time.Now()
		slow := 0
		for range 1000 {
			asked := time.Now()
			if !w.take(o, l, 1).OK {
				t.Fatal("a token of a million is refused")
			}
			if time.Since(asked) > 0 {
				slow++
			}
			spent++
			<-time.After(time.Millisecond)
		}
		if calls := f.calls() - before; calls > 40 || slow > 0 {
			t.Errorf("a thousand decisions in %s made %d calls, and %d waited", time.Since(begun), calls, slow)
		}
		w.sums()
		w.stop()
		if s := w.sums(); s.Held != 0 || s.Keys != 0 || f.left(t, o, l) != 1e6-spent {
			t.Errorf("at the end the store has %d left of which %d were spent, and %+v", f.left(t, o, l), spent, s)
		}
	})
}
