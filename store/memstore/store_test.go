package memstore

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
	"github.com/plimsoll-go/plimsoll/store/storetest"
)

// begin is the clock of tests: noon of a day.
var begin = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixNano()

func open(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bucket(t testing.TB, name string, r limit.Rate, burst int64) *store.Limit {
	t.Helper()
	l, err := store.NewTokens(name, store.TokenBucket, r, burst)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func slots(t testing.TB, maxHeld int64, lease time.Duration) *store.Limit {
	t.Helper()
	l, err := store.NewSlots("slots", maxHeld, lease)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ownerOf(n int) store.Key { return store.KeyOf("owner", fmt.Sprint(n)) }

// ask claims one of each limit in one batch.
func ask(t testing.TB, s *Store, now int64, owner store.Key, limits ...*store.Limit) *store.Batch {
	t.Helper()
	b := &store.Batch{ID: store.ID{Hi: 1, Lo: serial.Add(1)}, Now: now, Grants: make([]store.Grant, len(limits))}
	for _, l := range limits {
		b.Claims = append(b.Claims, store.Claim{Owner: owner, Limit: l, Cost: 1})
	}
	if err := s.Claim(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	return b
}

var serial atomic.Uint64

func giveBack(t testing.TB, s *Store, b *store.Batch, i int, tokens int64) {
	t.Helper()
	r := []store.Return{{
		ID: b.ID, Owner: b.Claims[i].Owner, Limit: b.Claims[i].Limit, Handle: b.Grants[i].Handle, At: b.Now, Now: b.Now, Tokens: tokens,
	}}
	if err := s.Return(context.Background(), r); err != nil {
		t.Fatal(err)
	}
}

var algorithms = []store.Algorithm{
	store.TokenBucket, store.FixedWindow, store.SlidingWindow, store.SlidingLog, store.StrictWindow, store.LeakyBucket,
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		return storetest.Harness{Driver: open(t, Config{}), Algorithms: algorithms}
	})
}

// One shard, so that the kit's owners meet in one table, which grows.
func TestContractOfOneShard(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s := open(t, Config{MaxKeys: 1})
		s.maxKeys = DefaultMaxKeys
		return storetest.Harness{Driver: s, Algorithms: algorithms}
	})
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		keys   int
		shards int
	}{{0, 256}, {1, 1}, {4096, 1}, {4097, 2}, {1 << 20, 256}, {1 << 31, 1 << 16}} {
		if s := open(t, Config{MaxKeys: c.keys}); len(s.shards)-1 != c.shards {
			t.Errorf("MaxKeys %d: %d shards, want %d", c.keys, len(s.shards)-1, c.shards)
		}
	}
	for _, keys := range []int{-1, 1<<31 + 1} {
		if _, err := New(Config{MaxKeys: keys}); err == nil || !strings.HasPrefix(err.Error(), "memstore: ") {
			t.Errorf("MaxKeys %d: error %v", keys, err)
		}
	}
}

func TestGrantsMustHaveRoom(t *testing.T) {
	s, b := open(t, Config{}), store.Batch{Claims: make([]store.Claim, 2), Grants: make([]store.Grant, 1)}
	if err := s.Claim(context.Background(), &b); err == nil {
		t.Error("two claims with room for one grant: no error")
	}
}

func TestSync(t *testing.T) {
	v, err := open(t, Config{}).Sync(context.Background(), store.Report{Worker: "w", Epoch: 1, Now: begin, Beat: time.Second, Capacity: 10})
	if err != nil || v.Live != 1 || v.Capacity != 10 {
		t.Errorf("a fleet of one: %+v, %v", v, err)
	}
}

func TestNothingAllocates(t *testing.T) {
	s, owner, now := open(t, Config{}), ownerOf(1), begin
	rate, window, slot := bucket(t, "rate", limit.Per(1e6, time.Second), 1e6), fixed(t, "window"), slots(t, 100, time.Minute)
	never := bucket(t, "never", limit.Per(1, time.Hour), 1)
	ask(t, s, now, owner, never)
	for _, c := range []struct {
		name   string
		limits []*store.Limit
	}{
		{"a token", []*store.Limit{rate}}, {"a window", []*store.Limit{window}}, {"a refusal", []*store.Limit{never}},
		{"a slot", []*store.Limit{slot}}, {"a request", []*store.Limit{rate, window, slot}}, {"a refused request", []*store.Limit{rate, slot, never}},
		{"five limits", []*store.Limit{rate, window, rate, window, slot}},
		{"a sliding window", []*store.Limit{tokens(t, "sliding", store.SlidingWindow, limit.Per(1e6, time.Second), 0)}},
		{"a log", []*store.Limit{tokens(t, "log", store.SlidingLog, limit.Per(100, time.Millisecond), 0)}},
		{"a strict window", []*store.Limit{tokens(t, "strict", store.StrictWindow, limit.Per(1e6, time.Second), 0)}},
		{"a leaky bucket", []*store.Limit{tokens(t, "leaky", store.LeakyBucket, limit.Per(1e6, time.Second), 1e6)}},
	} {
		b := ask(t, s, now, owner, c.limits...)
		returns := make([]store.Return, len(c.limits))
		allocs := testing.AllocsPerRun(1000, func() {
			b.Now += 1000
			if err := s.Claim(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			for i := range returns {
				returns[i] = store.Return{ID: b.ID, Owner: owner, Limit: c.limits[i], Handle: b.Grants[i].Handle, At: b.Now, Now: b.Now, Tokens: 1}
			}
			if s.Renew(context.Background(), returns) != nil || s.Return(context.Background(), returns) != nil {
				t.Fatal("return failed")
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", c.name, allocs)
		}
	}
}

func fixed(t testing.TB, name string) *store.Limit {
	t.Helper()
	l, err := store.NewTokens(name, store.FixedWindow, limit.Per(1e6, time.Second), 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// No decision is lost or made twice when all ask for one key.
func TestHotKeyCountsExactly(t *testing.T) {
	const goroutines, each = 64, 500
	for _, l := range []*store.Limit{bucket(t, "rate", limit.Per(1, time.Hour), goroutines*each-7), fixedOf(t, goroutines*each-7)} {
		s, granted := open(t, Config{}), atomic.Int64{}
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range each {
					if ask(t, s, begin, ownerOf(1), l).Grants[0].OK {
						granted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if granted.Load() != goroutines*each-7 {
			t.Errorf("%s: %d of %d granted", l.Algorithm, granted.Load(), goroutines*each-7)
		}
	}
}

func fixedOf(t testing.TB, count int64) *store.Limit {
	t.Helper()
	l, err := store.NewTokens("window", store.FixedWindow, limit.Per(count, time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Keys are entered, and tables grow, under the feet of who asks.
func TestGrowthLosesNothing(t *testing.T) {
	const goroutines, keys = 16, 3000
	s, l := open(t, Config{MaxKeys: 8000}), bucket(t, "rate", limit.Per(1, time.Hour), goroutines-1)
	var granted [keys]atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range keys {
				n := (i*7 + g*191) % keys
				if ask(t, s, begin, ownerOf(n), l).Grants[0].OK {
					granted[n].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for n := range granted {
		if granted[n].Load() != goroutines-1 {
			t.Fatalf("key %d: %d granted, want %d", n, granted[n].Load(), goroutines-1)
		}
	}
	if got := s.Stats().Keys; got != keys {
		t.Errorf("%d keys, want %d", got, keys)
	}
}

func TestMemoryComesBack(t *testing.T) {
	s, l := open(t, Config{MaxKeys: 4096}), bucket(t, "rate", limit.Per(10, time.Second), 10)
	for n := range 4000 {
		ask(t, s, begin, ownerOf(n), l)
	}
	peak := len(s.shards[0].table.Load().slots)
	for n := range 4000 {
		ask(t, s, begin+int64(time.Minute), ownerOf(10_000+n%50), l)
		ask(t, s, begin+int64(time.Minute), ownerOf(20_000+n), l)
	}
	if st := s.Stats(); st.Keys > 4096 || st.Forgotten < 4000 {
		t.Errorf("after another 4000 keys a minute later: %+v", st)
	}
	for n := range 2000 {
		ask(t, s, begin+int64(time.Hour)+int64(n)*int64(time.Second), ownerOf(30_000+n), l)
	}
	if now := len(s.shards[0].table.Load().slots); now > peak/4 {
		t.Errorf("a table of %d slots holds a key a second, the peak was %d", now, peak)
	}
}
