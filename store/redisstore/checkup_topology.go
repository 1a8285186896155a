package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots looks at whether all keys of a cluster have a place.
func (e *checkup) slots(ctx context.Context) {
	text := ""
	err := e.do(ctx, func(ctx context.Context) (err error) {
		text, err = e.store.client.ClusterInfo(ctx).Result()
		return err
	})
	if err != nil {
		e.add(Finding{Check: "cluster", Severity: Unseen, Seen: "CLUSTER INFO: " + err.Error(),
			Why: "its state and its slots are not known", Cure: "ACL SETUSER <user> +cluster|info"})
		return
	}
	i := parseInfo(text)
	f := Finding{Check: "cluster", Seen: fmt.Sprintf("state %s, %s of 16384 slots served by %s masters",
		i["cluster_state"], i["cluster_slots_ok"], i["cluster_size"])}
	if i["cluster_state"] != "ok" || i["cluster_slots_ok"] != "16384" {
		f.Severity, f.Why = Fault, "callers whose slot is not served are decided by on_fault"
		f.Cure = "redis-cli --cluster check <host>:<port>, then redis-cli --cluster fix <host>:<port>"
	}
	e.add(f)
	e.coverage(ctx)
}

// coverage looks at what the loss of one master does to the others' keys.
func (e *checkup) coverage(ctx context.Context) {
	nodes, err := e.nodes(ctx)
	if err != nil {
		return
	}
	for _, n := range nodes {
		if e.setting(ctx, n, "cluster-require-full-coverage") == "yes" {
			e.add(Finding{Check: "coverage", Severity: Warning, Seen: n.name + ": cluster-require-full-coverage yes",
				Why:  "while one master is lost, all others refuse too (CLUSTERDOWN), so one lost server is all of them",
				Cure: "on each node: CONFIG SET cluster-require-full-coverage no, then CONFIG REWRITE"})
			return
		}
	}
}

// sentinels looks at those who say where the master is.
func (e *checkup) sentinels(ctx context.Context) {
	c := &e.store.config
	reached := 0
	for _, address := range c.Addrs {
		sentinel := redis.NewSentinelClient(&redis.Options{
			Addr: address, Username: c.SentinelUsername, Password: c.SentinelPassword, TLSConfig: c.TLS,
			MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: time.Second, DisableIdentity: true,
		})
		if e.sentinel(ctx, address, sentinel) {
			reached++
		}
		_ = sentinel.Close()
	}
	f := Finding{Check: "sentinels", Seen: fmt.Sprintf("%d of %d answer", reached, len(c.Addrs))}
	if reached < 3 {
		f.Severity, f.Why = Warning, "with fewer than three, the loss of one may leave nobody to promote a replica"
		f.Cure = "run three or more on machines of their own, and name them all in store.redis.addresses"
	}
	e.add(f)
}

// sentinel asks one of them, and reports whether it answers.
func (e *checkup) sentinel(ctx context.Context, address string, s *redis.SentinelClient) bool {
	name := e.store.config.Master
	master, err := s.Master(ctx, name).Result()
	if err != nil {
		f := explain(err)
		f.Check, f.Severity, f.Seen, f.Why = "sentinel", Warning, address+": "+f.Seen, "it cannot say where the master is"
		if strings.Contains(err.Error(), "No such master") {
			f.Severity, f.Seen = Fault, fmt.Sprintf("%s: it knows no master %q", address, name)
			f.Cure = "correct store.redis.master: redis-cli -p 26379 SENTINEL MASTERS lists the names"
		}
		e.add(f)
		return false
	}
	if err := s.CkQuorum(ctx, name).Err(); err != nil {
		e.add(Finding{Check: "quorum", Severity: Fault, Seen: address + ": " + err.Error(),
			Why:  "when the master is lost, no replica is promoted, and every stage decides by its on_fault until a person acts",
			Cure: "bring the missing sentinels back, or SENTINEL RESET " + name + " on each, so that they forget those that are gone"})
	}
	after, _ := strconv.Atoi(master["down-after-milliseconds"])
	if wait := time.Duration(after) * time.Millisecond; wait > 5*time.Second {
		e.add(Finding{Check: "failover", Severity: Warning, Seen: fmt.Sprintf("%s: a lost master is missed after %s", address, wait),
			Why: "for so long every stage decides by its on_fault", Cure: fmt.Sprintf("on each sentinel: SENTINEL SET %s down-after-milliseconds 2000", name)})
	}
	return true
}
