package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

var serial atomic.Uint64

func bucketOf(t testing.TB, count int64) *store.Limit {
	t.Helper()
	l, err := store.NewTokens("rate", store.TokenBucket, limit.Per(count, time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func slotsOf(t testing.TB, n int64) *store.Limit {
	t.Helper()
	l, err := store.NewSlots("slots", n, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// batchOf asks for one of each limit for one owner.
func batchOf(owner string, limits ...*store.Limit) *store.Batch {
	b := &store.Batch{ID: store.ID{Hi: 1, Lo: serial.Add(1)}, Now: begin, Budget: time.Minute, Grants: make([]store.Grant, len(limits))}
	for _, l := range limits {
		b.Claims = append(b.Claims, store.Claim{Owner: store.KeyOf(owner), Limit: l, Cost: 1})
	}
	return b
}

func claim(t testing.TB, s *Store, b *store.Batch) *store.Batch {
	t.Helper()
	if err := s.Claim(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	return b
}

// generally asks for a batch in the general way, also if it has one of its own.
func generally(s *Store, b *store.Batch) error {
	all, err := termsOfAll(b)
	if err != nil {
		return err
	}
	return s.group.ask(context.Background(), b, s.inRecords(b, all, ""))
}

// ways are both ways to ask.
var ways = []struct {
	name string
	ask  func(s *Store, b *store.Batch) error
}{
	{"its own way", func(s *Store, b *store.Batch) error { return s.Claim(context.Background(), b) }},
	{"the general way", generally},
}

// leftTo is what remains to an owner, asked without taking any.
func leftTo(t testing.TB, s *Store, owner string, l *store.Limit) int64 {
	t.Helper()
	b := batchOf(owner, l)
	b.Claims[0].Cost, b.Peek = 0, l.Kind == store.Slots
	g := claim(t, s, b).Grants[0]
	if b.Peek && g.OK {
		return g.Remaining + 1 // a peek tells what would be left
	}
	return g.Remaining
}

// A server that forgot its scripts is taught them once, whoever asks, and
// nothing is charged twice.
func TestScriptsFlushed(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 1000)
	for round := range 10 {
		srv.do(t, "SCRIPT", "FLUSH")
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { claim(t, s, batchOf("o", l)) })
		}
		wg.Wait()
		if want := int64(1000 - 50*(round+1)); leftTo(t, s, "o", l) != want {
			t.Errorf("%d left, want %d", leftTo(t, s, "o", l), want)
		}
		if s.claims.loads > round+2 {
			t.Errorf("loaded %d times in %d rounds", s.claims.loads, round+1)
		}
	}
}

// A server that comes back empty is used again.
func TestRestartedEmpty(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 5)
	claim(t, s, batchOf("o", l))
	srv.Kill()
	if err := s.Claim(t.Context(), batchOf("o", l)); err == nil || errors.Is(err, store.ErrKey) {
		t.Errorf("without a server: error %v", err)
	}
	srv.launch(t)
	eventually(t, "a claim passes", func() bool { return s.Claim(t.Context(), batchOf("o", l)) == nil })
	if n := leftTo(t, s, "o", l); n != 4 {
		t.Errorf("%d left, want 4: one was taken since", n)
	}
}

// Data of another type under one key fails the claims on that key alone, and
// charges nothing to the other owners of the batch.
func TestWrongType(t *testing.T) {
	srv := start(t)
	s, l, held := open(t, srv), bucketOf(t, 5), slotsOf(t, 5)
	for _, c := range []struct {
		name  string
		spoil []any
		limit *store.Limit
	}{
		{"a list", []any{"LPUSH", s.keyOf(store.KeyOf("bad"), l), "x"}, l},
		{"a strange string", []any{"SET", s.keyOf(store.KeyOf("bad"), l), "x"}, l},
		{"a string for slots", []any{"SET", s.keyOf(store.KeyOf("bad"), held), "x"}, held},
	} {
		srv.do(t, "FLUSHALL")
		srv.do(t, c.spoil...)
		b := batchOf("good", l, c.limit)
		b.Claims[1].Owner = store.KeyOf("bad")
		if err := s.Claim(t.Context(), b); !errors.Is(err, store.ErrKey) {
			t.Errorf("%s: error %v, want one about the key", c.name, err)
		}
		if n := leftTo(t, s, "good", l); n != 5 {
			t.Errorf("%s: %d left to the other owner, want 5", c.name, n)
		}
	}
}

// A server that takes no writes fails every claim that would write, and the
// errors are about the store; slots can still be given back when it is full.
func TestNoWrites(t *testing.T) {
	for _, c := range []struct {
		name       string
		spoil, end []any
		frees      bool
	}{
		{"out of memory", []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, true},
		{"a replica", []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, false},
		{"too few replicas", []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, false},
	} {
		srv := start(t)
		s, l, held := open(t, srv), bucketOf(t, 5), slotsOf(t, 5)
		before := claim(t, s, batchOf("o", l, held))
		srv.do(t, c.spoil...)
		for _, w := range ways {
			for n, limits := range [][]*store.Limit{{l, held}, {held}, {l}, {held}} {
				owner := []string{"o", "o", "o", "another"}[n]
				if err := w.ask(s, batchOf(owner, limits...)); err == nil || errors.Is(err, store.ErrKey) {
					t.Errorf("%s, %s, request %d: error %v", c.name, w.name, n, err)
				}
			}
		}
		err := s.Return(t.Context(), []store.Return{{ID: before.ID, Owner: store.KeyOf("o"), Limit: held}})
		if (err == nil) != c.frees {
			t.Errorf("%s: a slot given back: %v", c.name, err)
		}
		srv.do(t, c.end...)
		want := int64(4)
		if c.frees {
			want = 5
		}
		if n, m := leftTo(t, s, "o", l), leftTo(t, s, "o", held); n != 4 || m != want {
			t.Errorf("%s: %d tokens and %d slots left, want 4 and %d", c.name, n, m, want)
		}
	}
}

// Who asks a server that hangs waits for its budget, although the connection
// lives on; what the server grants when it wakes is given back, and what was
// not sent by then is never sent.
func TestHungServer(t *testing.T) {
	srv := start(t)
	s, err := New(Config{Addrs: []string{srv.Socket}, Connections: 1, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l, held := bucketOf(t, 5), slotsOf(t, 5)
	claim(t, s, batchOf("o", l, held))
	calls := evalshas(t, srv)
	srv.signal(t, syscall.SIGSTOP)
	sent(t, s, batchOf("o0", l, held))
	for i := 1; i < 4; i++ {
		b := batchOf(fmt.Sprint("o", i), l, held)
		b.Budget = 10 * time.Millisecond
		if err := s.Claim(t.Context(), b); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("claim %d: error %v", i, err)
		}
	}
	srv.signal(t, syscall.SIGCONT)
	eventually(t, "the grant that came for nobody is given back", func() bool {
		return leftTo(t, s, "o0", held) == 5 && leftTo(t, s, "o0", l) == 5
	})
	if n := evalshas(t, srv) - calls; n < 3 {
		t.Errorf("%d calls", n)
	}
	for i := 1; i < 4; i++ {
		if n := srv.do(t, "EXISTS", s.keyOf(store.KeyOf(fmt.Sprint("o", i)), l)); n != int64(0) {
			t.Errorf("claim %d was sent", i)
		}
	}
	if n := leftTo(t, s, "o", held); n != 4 {
		t.Errorf("%d slots left to another owner, want 4", n)
	}
}

// sent makes a claim whose asker leaves when it was sent and not answered.
func sent(t testing.TB, s *Store, b *store.Batch) {
	t.Helper()
	sending := func(n int) func() bool {
		return func() bool {
			s.group.mu.Lock()
			defer s.group.mu.Unlock()
			return s.group.sending == n && len(s.group.waiting) == 0
		}
	}
	eventually(t, "nothing is under way", sending(0))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- s.Claim(ctx, b) }()
	eventually(t, "the claim is sent", sending(1))
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the asker left: error %v", err)
	}
}

// evalshas is how many scripts the server has run.
func evalshas(t testing.TB, srv *server) (n int) {
	t.Helper()
	for line := range strings.Lines(srv.do(t, "INFO", "commandstats").(string)) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			_, _ = fmt.Sscanf(rest, "%d", &n)
		}
	}
	return n
}

// A claim whose answer never came was made once at most.
func TestNothingIsChargedTwice(t *testing.T) {
	srv := start(t)
	s, err := New(Config{Addrs: []string{srv.Socket}, Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l := bucketOf(t, 100)
	claim(t, s, batchOf("o", l))
	warm(t, s, 4)
	srv.signal(t, syscall.SIGSTOP)
	const failed = 3
	for range failed {
		if s.Claim(t.Context(), batchOf("o", l)) == nil {
			t.Error("a hung server answered")
		}
	}
	srv.signal(t, syscall.SIGCONT)
	eventually(t, "a claim passes", func() bool { return s.Claim(t.Context(), batchOf("o", l)) == nil })
	if n := leftTo(t, s, "o", l); n < 100-1-failed-1 {
		t.Errorf("%d left of 100 after 2 grants and %d that are not known", n, failed)
	}
}

// warm opens connections, which wait to be used.
func warm(t testing.TB, s *Store, n int) {
	t.Helper()
	for range n {
		c := s.client.(*redis.Client).Conn()
		defer c.Close()
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A refusal writes nothing at all.
func TestRefusalWritesNothing(t *testing.T) {
	srv := start(t, "--enable-debug-command", "yes")
	s, l, held := open(t, srv), bucketOf(t, 5), slotsOf(t, 1)
	claim(t, s, batchOf("o", l, held))
	before := srv.do(t, "DEBUG", "DIGEST")
	for _, b := range []*store.Batch{batchOf("o", l, held), batchOf("o", held), batchOf("o", l)} {
		b.Peek = len(b.Claims) == 1
		if len(b.Claims) == 2 {
			b.Claims[0].Owner = store.KeyOf("new")
		}
		claim(t, s, b)
	}
	if after := srv.do(t, "DEBUG", "DIGEST"); after != before {
		t.Errorf("the data changed: %v, %v", before, after)
	}
}

// Every key has an end, also one that had none, and lies in its owner's slot.
func TestEveryKeyEnds(t *testing.T) {
	srv := start(t)
	s, l, held := open(t, srv), bucketOf(t, 5), slotsOf(t, 5)
	for i := range 4 {
		if err := ways[i%2].ask(s, batchOf("}{\x00", l, held)); err != nil {
			t.Fatal(err)
		}
		keys := srv.do(t, "KEYS", "*").([]any)
		if len(keys) != 2 {
			t.Fatalf("keys %q, want 2", keys)
		}
		for _, key := range keys {
			if !strings.HasPrefix(key.(string), "plimsoll:{"+store.KeyOf("}{\x00").String()+"}") {
				t.Errorf("key %q", key)
			}
			if ttl := srv.do(t, "PTTL", key).(int64); ttl <= 0 || ttl > int64(time.Hour/time.Millisecond)+2*grace {
				t.Errorf("%s ends in %dms", key, ttl)
			}
			srv.do(t, "PERSIST", key)
		}
	}
}

// Slots that nobody gave back go from their set within two graces of their end,
// while it is in use.
func TestEndedSlotsAreSwept(t *testing.T) {
	for _, w := range ways {
		srv := start(t)
		s, held := open(t, srv), slotsOf(t, 5)
		set := s.keyOf(store.KeyOf("o"), held)
		ask := func() {
			t.Helper()
			if err := w.ask(s, batchOf("o", held)); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		srv.do(t, "ZADD", set, 1, "left")
		srv.do(t, "PEXPIRE", set, int64(time.Hour/time.Millisecond)+2*grace)
		ask()
		if n := srv.do(t, "ZCARD", set).(int64); n != 3 {
			t.Errorf("%s: a set that lasts: %d members, want it left alone with 3", w.name, n)
		}
		srv.do(t, "PEXPIRE", set, int64(time.Hour/time.Millisecond))
		ask()
		if n := srv.do(t, "ZCARD", set).(int64); n != 3 {
			t.Errorf("%s: %d members, want the 3 that are held", w.name, n)
		}
	}
}

// It is the server's clock that counts, whatever the worker's says.
func TestServersClock(t *testing.T) {
	srv := start(t)
	s, l, held := open(t, srv), bucketOf(t, 2), slotsOf(t, 2)
	clock := func() int64 {
		at, err := srv.Admin.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return at.UnixMicro()
	}
	before := clock()
	claim(t, s, batchOf("o", held))
	ends, err := srv.Admin.ZRangeWithScores(t.Context(), s.keyOf(store.KeyOf("o"), held), 0, -1).Result()
	if err != nil || len(ends) != 1 {
		t.Fatalf("%v, %v", ends, err)
	}
	if granted := int64(ends[0].Score) - held.Lease.Microseconds(); granted < before || granted > clock() {
		t.Errorf("a slot was granted at %d, the server's clock was %d before", granted, before)
	}
	for i, now := range []int64{0, begin, 1 << 60} {
		b := batchOf("o", l)
		b.Now = now
		if ok := claim(t, s, b).Grants[0].OK; ok != (i < 2) {
			t.Errorf("claim %d: granted %v", i, ok)
		}
	}
}

// Calls that are no claims take no connection from those that are.
func TestReturnsLeaveRoomForClaims(t *testing.T) {
	s, l := open(t, start(t)), slotsOf(t, 5)
	for range others {
		s.others <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Return(ctx, []store.Return{{Owner: store.KeyOf("o"), Limit: l}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a return without a connection: error %v", err)
	}
	if _, err := s.Sync(ctx, store.Report{Worker: "w"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a report without a connection: error %v", err)
	}
	claim(t, s, batchOf("o", l))
}

// What a server answers that is there and cannot decide is no refusal, and
// no fault of one key.
func TestServerThatCannotDecide(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		spoil, end   func(*testing.T, *server)
	}{
		{
			"a script that does not end", "BUSY",
			func(t *testing.T, srv *server) {
				srv.do(t, "CONFIG", "SET", "busy-reply-threshold", "1")
				go srv.Admin.Eval(context.Background(), "while true do end", nil)
				eventually(t, "it is busy", func() bool {
					err := srv.Admin.Ping(context.Background()).Err()
					return err != nil && strings.HasPrefix(err.Error(), "BUSY")
				})
			},
			func(t *testing.T, srv *server) { srv.do(t, "SCRIPT", "KILL") },
		},
		{
			"another password", "NOAUTH",
			func(t *testing.T, srv *server) {
				srv.do(t, "CONFIG", "SET", "requirepass", "new")
				srv.do(t, "AUTH", "new")
				srv.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			},
			func(t *testing.T, srv *server) { srv.do(t, "CONFIG", "SET", "requirepass", "") },
		},
	} {
		srv := start(t)
		s, l := open(t, srv), bucketOf(t, 5)
		claim(t, s, batchOf("o", l))
		c.spoil(t, srv)
		eventually(t, c.name, func() bool {
			err := s.Claim(t.Context(), batchOf("o", l))
			if err == nil || errors.Is(err, store.ErrKey) {
				t.Fatalf("%s: error %v", c.name, err)
			}
			return strings.Contains(err.Error(), c.answer)
		})
		c.end(t, srv)
		eventually(t, "it decides again", func() bool { return s.Claim(t.Context(), batchOf("o", l)) == nil })
		if n := leftTo(t, s, "o", l); n != 3 {
			t.Errorf("%s: %d left, want 3", c.name, n)
		}
	}
}

// A server that refuses a connection refuses all that was to be sent on it:
// nothing counts as done.
func TestWhoeverMayNotConnectIsToldSo(t *testing.T) {
	srv := start(t)
	srv.do(t, "CONFIG", "SET", "requirepass", "secret")
	s, err := New(Config{Addrs: []string{srv.Socket}, Password: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := batchOf("o", bucketOf(t, 5))
	_, read := s.Control(10).run(t.Context(), "read")
	for what, err := range map[string]error{
		"claim":  s.Claim(t.Context(), b),
		"return": s.Return(t.Context(), []store.Return{returnOf(b, 0, b.Now)}),
		"read":   read,
	} {
		if err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
			t.Errorf("%s: error %v, want the server's", what, err)
		}
	}
}
