package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// cluster is two nodes, each with half of the slots.
type cluster struct {
	nodes [2]*server
	ports [2]string
}

func startCluster(t testing.TB) (c cluster, s *Store) {
	t.Helper()
	var addrs []string
	for i := range c.nodes {
		c.ports[i] = redistest.FreePort()
		c.nodes[i] = start(t, "--port", c.ports[i], "--bind", "127.0.0.1", "--cluster-enabled", "yes")
		c.nodes[i].do(t, "CLUSTER", "ADDSLOTSRANGE", i*8192, i*8192+8191)
		addrs = append(addrs, "127.0.0.1:"+c.ports[i])
	}
	c.nodes[0].do(t, "CLUSTER", "MEET", "127.0.0.1", c.ports[1])
	for _, n := range c.nodes {
		eventually(t, "the nodes agree", func() bool {
			info := n.do(t, "CLUSTER", "INFO").(string)
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		})
	}
	s, err := New(Config{Addrs: addrs, Cluster: true, Patience: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return c, s
}

// Owners in different slots are granted all or none.
func TestCluster(t *testing.T) {
	_, s := startCluster(t)
	rate, held := bucketOf(t, 3), slotsOf(t, 3)
	small, err := store.NewTokens("small", store.TokenBucket, limit.Per(2, time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	batch := func(groups ...store.Group) *store.Batch {
		b := batchOf("caller", rate, held)
		for i, g := range groups {
			b.Claims = append(b.Claims, store.Claim{Owner: store.KeyOf(fmt.Sprint("shared", i)), Limit: small, Cost: 1, Group: g})
		}
		b.Grants = make([]store.Grant, len(b.Claims))
		return b
	}
	want := func(when string, tokens, slots int64) {
		t.Helper()
		if n, m := leftTo(t, s, "caller", rate), leftTo(t, s, "caller", held); n != tokens || m != slots {
			t.Errorf("%s: %d tokens and %d slots left, want %d and %d", when, n, m, tokens, slots)
		}
	}
	for range 2 {
		if b := claim(t, s, batch(store.Enforced, store.Enforced)); !b.Grants[3].OK {
			t.Fatalf("refused: %+v", b.Grants)
		}
	}
	want("two granted", 1, 1)
	b := claim(t, s, batch(store.Enforced, store.Enforced))
	if b.Grants[2].OK || !b.Grants[0].OK || b.Grants[0].Remaining != 1 || b.Grants[1].Remaining != 1 {
		t.Errorf("the third: %+v", b.Grants)
	}
	want("one refused", 1, 1)
	b = claim(t, s, batch(store.Shadow))
	if b.Grants[2].OK || !b.Grants[0].OK {
		t.Errorf("a shadow claim that does not pass: %+v", b.Grants)
	}
	want("one granted beside a shadow claim", 0, 0)
}

// While a slot is elsewhere than was known, its keys fail, and nothing else;
// soon it is found again.
func TestClusterSlotMoves(t *testing.T) {
	c, s := startCluster(t)
	l, held := bucketOf(t, 100), slotsOf(t, 100)
	claim(t, s, batchOf("o", l, held))
	slot := c.nodes[0].do(t, "CLUSTER", "KEYSLOT", s.keyOf(store.KeyOf("o"), l)).(int64)
	from, to := c.nodes[slot/8192], c.nodes[1-slot/8192]
	for _, key := range from.do(t, "CLUSTER", "GETKEYSINSLOT", slot, 10).([]any) {
		from.do(t, "DEL", key)
	}
	owner := to.do(t, "CLUSTER", "MYID")
	to.do(t, "CLUSTER", "SETSLOT", slot, "NODE", owner)
	from.do(t, "CLUSTER", "SETSLOT", slot, "NODE", owner)
	eventually(t, "the slot is found", func() bool {
		err := s.Claim(t.Context(), batchOf("o", l))
		if err != nil && !errors.Is(err, store.ErrKey) {
			t.Fatalf("a slot that moved: error %v", err)
		}
		return err == nil
	})
	if n := leftTo(t, s, "o", l); n != 99 {
		t.Errorf("%d left, want 99", n)
	}
}

// A limit that many callers share is in another slot than theirs. Call by call
// it takes a script of its own, and a refusal a second trip to give it back; on
// a lease a request is one script on one node, and a refusal costs no more.
func TestClusterLeasesWhatCallersShare(t *testing.T) {
	c, s := startCluster(t)
	g := guarded(t, s, store.GuardConfig{Budget: time.Second, Leases: store.LeaseConfig{HotAt: 50, Ahead: time.Second}})
	all, own, few := bucketOf(t, 1<<30), bucketOf(t, 1<<20), slotsOf(t, 1)
	ask := func(caller string) *store.Batch {
		b := batchOf(caller, own, few)
		b.Now = time.Now().UnixNano()
		b.Claims = append(b.Claims, store.Claim{Owner: store.KeyOf("everybody"), Limit: all, Cost: 1})
		b.Grants = make([]store.Grant, 3)
		if err := g.Claim(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	count := func() int { return scripts(t, c.nodes[0]) + scripts(t, c.nodes[1]) }
	if b := ask("busy"); !b.Grants[1].OK {
		t.Fatalf("the first slot: %+v", b.Grants)
	}
	ask("busy") // the scripts are known to both nodes now
	before := count()
	if b := ask("busy"); b.Grants[1].OK || !b.Grants[0].OK || !b.Grants[2].OK {
		t.Fatalf("a second slot of one: %+v", b.Grants)
	}
	if n := count() - before; n != 3 {
		t.Errorf("a refusal call by call took %d scripts, want one on each node and one to give back", n)
	}
	callers := 0
	eventually(t, "what all share is leased", func() bool {
		for range 20 {
			callers++
			ask(fmt.Sprint("c", callers))
		}
		return g.Leases().Held > 10
	})
	before = count()
	granted := ask("one more")
	refused := ask("busy")
	if n := count() - before; n > 3 { // a loan may be under way
		t.Errorf("a grant and a refusal took %d scripts", n)
	}
	if !granted.Grants[2].OK || refused.Grants[1].OK || refused.Grants[2].Handle != 0 {
		t.Errorf("granted %+v, refused %+v", granted.Grants, refused.Grants)
	}
	if s := g.Leases(); s.Lent != s.Spent+s.Returned+s.Void+s.Held {
		t.Errorf("%+v", s)
	}
}

// A slot that is given back is found where its key has gone.
func TestReturnFollowsItsKey(t *testing.T) {
	c, s := startCluster(t)
	held := slotsOf(t, 100)
	b := claim(t, s, batchOf("o", held))
	key := s.keyOf(store.KeyOf("o"), held)
	slot := c.nodes[0].do(t, "CLUSTER", "KEYSLOT", key).(int64)
	from, to := c.nodes[slot/8192], c.nodes[1-slot/8192]
	to.do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.do(t, "CLUSTER", "MYID"))
	from.do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.do(t, "CLUSTER", "MYID"))
	from.do(t, "MIGRATE", "127.0.0.1", c.ports[1-slot/8192], "", 0, 5000, "KEYS", key)
	back := []store.Return{{ID: b.ID, Owner: store.KeyOf("o"), Limit: held}}
	if err := s.Return(t.Context(), back); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrKey) {
		t.Errorf("while the key moves: error %v, want one that makes it be tried again", err)
	}
	owner := to.do(t, "CLUSTER", "MYID")
	to.do(t, "CLUSTER", "SETSLOT", slot, "NODE", owner)
	from.do(t, "CLUSTER", "SETSLOT", slot, "NODE", owner)
	eventually(t, "it is given back", func() bool { return s.Return(t.Context(), back) == nil })
	if n := to.do(t, "ZCARD", key); n != int64(0) {
		t.Errorf("%d slots are held", n)
	}
}
