package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// Severity says how bad a finding is. The zero value is Fine.
type Severity uint8

// The severities.
const (
	Fine    Severity = iota
	Unseen           // it could not be looked at; see InspectPermissions
	Warning          // it works, until something happens that may happen
	Fault            // it does not work, or not as is promised
)

var severities = [...]string{"ok", "not seen", "warning", "fault"}

// String is ok, not seen, warning or fault.
func (s Severity) String() string {
	if int(s) >= len(severities) {
		return "unknown"
	}
	return severities[s]
}

// MarshalText is String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing that was looked at. It holds no secret.
type Finding struct {
	Check    string   `json:"check"` // what was looked at, in a word
	Severity Severity `json:"severity"`
	Seen     string   `json:"seen"`           // what was found
	Why      string   `json:"why,omitempty"`  // why it matters; empty when it is fine
	Cure     string   `json:"cure,omitempty"` // the command or setting that mends it; empty when it is fine
}

// Depth says how much is looked at.
type Depth uint8

// The depths.
const (
	AtStart  Depth = iota // what a process asks when it starts: some forty calls
	Thorough              // also the latency of some hundred claims, and that keys end, which takes a second or two
)

// InspectPermissions is what a user must be allowed beside Permissions for all
// of a checkup. Nothing else needs it.
const InspectPermissions = "+info +config|get +cluster|info"

// ClusterPermissions is Permissions on the nodes of a cluster, whose clients
// have to ask who has which keys.
const ClusterPermissions = Permissions + " +cluster|slots +command"

// Checkup looks at the server as a careful operator would: whether it can be
// reached, used and relied on, and what would mend what is wrong. budget is how
// long a decision waits for it. It writes below the prefix of the keys, to keys
// of its own that end by themselves, and takes at most one of the connections
// that are not for claims. What the user may not look at is Unseen. It returns
// at the end of the context with what it found by then.
func (s *Store) Checkup(ctx context.Context, budget time.Duration, depth Depth) []Finding {
	e := &checkup{store: s, scratch: s.sibling(), budget: budget, depth: depth}
	if s.config.Master != "" {
		e.sentinels(ctx)
	}
	if !e.reach(ctx) {
		return e.findings
	}
	e.servers(ctx)
	if s.cluster {
		e.slots(ctx)
	}
	if e.use(ctx) && depth == Thorough {
		e.latency(ctx)
		e.end(ctx)
	}
	e.clock(ctx)
	return e.findings
}

// checkup is one examination.
type checkup struct {
	store    *Store
	scratch  *Store // the same server, under keys of its own
	budget   time.Duration
	depth    Depth
	findings []Finding
}

func (e *checkup) add(f ...Finding) { e.findings = append(e.findings, f...) }

// sibling is a store on the same connections whose keys are nobody else's.
func (s *Store) sibling() *Store {
	c := *s
	c.prefix = fmt.Sprintf("%sdoctor:%x:", s.prefix, rand.Uint64())
	c.grace = 100
	c.group = newGroup(1, 16, c.commit)
	return &c
}

// do runs commands over a connection that no claim needs.
func (e *checkup) do(ctx context.Context, ask func(context.Context) error) error {
	select {
	case e.store.others <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-e.store.others }()
	return ask(ctx)
}

// reach finds out whether the server answers at all.
func (e *checkup) reach(ctx context.Context) bool {
	var err error
	for range 3 { // one may be late on a busy machine
		err = e.do(ctx, func(ctx context.Context) error { return e.store.client.Time(ctx).Err() })
		if err == nil || !isTimeout(err) {
			break
		}
	}
	switch {
	case err == nil, denied(err): // then the server answers, and use says what is missing
		e.add(Finding{Check: "reachable", Seen: "it answers"})
		return true
	}
	e.add(explain(err))
	return false
}

// node is one server that keeps keys.
type node struct {
	name   string // empty when there is one
	client redis.Cmdable
}

// nodes are the masters that can be reached.
func (e *checkup) nodes(ctx context.Context) (list []node, err error) {
	cluster, ok := e.store.client.(*redis.ClusterClient)
	if !ok {
		return []node{{client: e.store.client}}, nil
	}
	found := make(chan node, 1024)
	err = cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		found <- node{c.Options().Addr, c}
		return nil
	})
	close(found)
	for n := range found {
		list = append(list, n)
	}
	return list, err
}
