package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// checkupOf looks at a server as its configuration says.
func checkupOf(t *testing.T, c Config, depth Depth) []Finding {
	t.Helper()
	if c.Patience == 0 {
		c.Patience = 2 * time.Second
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.Checkup(ctx, time.Second, depth)
}

func find(findings []Finding, check string) (f Finding, ok bool) {
	i := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == check })
	if i < 0 {
		return f, false
	}
	return findings[i], true
}

// expect holds that a check came to a severity, and says these words.
func expect(t *testing.T, findings []Finding, check string, severity Severity, words ...string) {
	t.Helper()
	f, ok := find(findings, check)
	text := f.Seen + " | " + f.Why + " | " + f.Cure
	if !ok || f.Severity != severity {
		t.Errorf("%s: %v (%s), want %v; all: %+v", check, f.Severity, text, severity, findings)
	}
	if severity != Fine && (f.Why == "" || f.Cure == "") {
		t.Errorf("%s: a finding without its reason or its cure: %+v", check, f)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s does not say %q: %s", check, word, text)
		}
	}
}

func worst(findings []Finding) (w Severity) {
	for _, f := range findings {
		w = max(w, f.Severity)
	}
	return w
}

// On a server that nothing is wrong with, everything is looked at and nothing
// is found, and nothing is left behind.
func TestCheckupOfAGoodServer(t *testing.T) {
	srv := start(t)
	findings := checkupOf(t, Config{Addrs: []string{srv.Socket}}, Thorough)
	if w := worst(findings); w != Fine {
		t.Errorf("found %v: %+v", w, findings)
	}
	for _, check := range []string{"reachable", "version", "mode", "role", "eviction", "memory", "persistence", "replicas",
		"connections", "permissions", "scripts", "latency", "expiry", "clock"} {
		expect(t, findings, check, Fine)
	}
	if len(findings) != 14 {
		t.Errorf("%d findings: %+v", len(findings), findings)
	}
	eventually(t, "nothing is left", func() bool { return srv.do(t, "DBSIZE") == int64(0) })
	quick := checkupOf(t, Config{Addrs: []string{srv.Socket}}, AtStart)
	if _, measured := find(quick, "latency"); measured || worst(quick) != Fine {
		t.Errorf("at the start: %+v", quick)
	}
}

// Each bad state of a server, on a real one, is found, and its cure works.
func TestCheckupFindsBadStates(t *testing.T) {
	srv := start(t)
	look := func() []Finding { return checkupOf(t, Config{Addrs: []string{srv.Socket}}, AtStart) }
	set := func(name, value string) { srv.do(t, "CONFIG", "SET", name, value) }

	set("maxmemory-policy", "volatile-lru")
	expect(t, look(), "eviction", Warning, "volatile-lru", "no effect", "CONFIG SET maxmemory-policy noeviction")
	set("maxmemory", "100mb")
	expect(t, look(), "eviction", Fault, "0 keys evicted", "full again")
	set("maxmemory-policy", "noeviction")
	expect(t, look(), "eviction", Fine, "noeviction")

	set("maxmemory", "1")
	full := look()
	expect(t, full, "memory", Warning, "OOM", "CONFIG SET maxmemory")
	expect(t, full, "scripts", Fault, "OOM")
	set("maxmemory", "0")

	set("maxclients", "4")
	expect(t, look(), "connections", Warning, "of 4 in use", "maxclients")
	set("maxclients", "10000")

	set("appendonly", "yes")
	set("appendfsync", "always")
	expect(t, look(), "persistence", Warning, "waits for the disk", "everysec")
	set("appendfsync", "everysec")
	expect(t, look(), "persistence", Fine, "append-only")
	set("appendonly", "no")
	set("save", "3600 1")
	expect(t, look(), "persistence", Fine, "snapshots")
	if worst(look()) != Fine {
		t.Errorf("after all cures: %+v", look())
	}
}

// A snapshot that cannot be written stops all writes.
func TestCheckupOfAServerWhoseDiskFails(t *testing.T) {
	srv := start(t, "--enable-protected-configs", "yes")
	srv.do(t, "CONFIG", "SET", "save", "3600 1")
	srv.do(t, "SET", "x", "1")
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	srv.do(t, "CONFIG", "SET", "dir", dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	srv.do(t, "BGSAVE")
	eventually(t, "the snapshot fails", func() bool {
		return strings.Contains(fmt.Sprint(srv.do(t, "INFO", "persistence")), "rdb_last_bgsave_status:err")
	})
	findings := checkupOf(t, Config{Addrs: []string{srv.Socket}}, AtStart)
	expect(t, findings, "persistence", Fault, "MISCONF", "CONFIG SET save ''")
	expect(t, findings, "scripts", Fault, "MISCONF")
}

// Who cannot be reached is told apart by why, with what helps.
func TestCheckupOfAServerThatCannotBeReached(t *testing.T) {
	srv := start(t, "--port", "0")
	only := func(c Config, words ...string) {
		t.Helper()
		findings := checkupOf(t, c, AtStart)
		if len(findings) != 1 {
			t.Errorf("%d findings: %+v", len(findings), findings)
		}
		expect(t, findings, "reachable", Fault, words...)
		for _, f := range findings {
			if strings.Contains(fmt.Sprintf("%+v", f), "hunter2") {
				t.Errorf("a password shows: %+v", f)
			}
		}
	}
	only(Config{Addrs: []string{"127.0.0.1:" + redistest.FreePort()}}, "nobody listens", "PLIMSOLL_STORE_DSN")
	only(Config{Addrs: []string{filepath.Join(t.TempDir(), "none")}}, "no such socket")
	only(Config{Addrs: []string{"nowhere.invalid:6379"}}, "name of its host")
	only(Config{Addrs: []string{srv.Socket}, DB: 99}, "no database of that number", "store.redis.database")
	only(Config{Addrs: []string{srv.Socket}, Username: "limiter", Password: "hunter2"}, "does not accept", "PLIMSOLL_STORE_PASSWORD")

	srv.do(t, "CONFIG", "SET", "requirepass", "secret")
	only(Config{Addrs: []string{srv.Socket}}, "asks for a password")
	only(Config{Addrs: []string{srv.Socket}, Password: "hunter2"}, "does not accept")
	srv.do(t, "CONFIG", "SET", "requirepass", "")

	srv.do(t, "CONFIG", "SET", "maxclients", "1")
	only(Config{Addrs: []string{srv.Socket}}, "maxclients")
	srv.do(t, "CONFIG", "SET", "maxclients", "100")

	srv.signal(t, syscall.SIGSTOP)
	only(Config{Addrs: []string{srv.Socket}, Patience: 300 * time.Millisecond}, "does not answer in time")
	srv.signal(t, syscall.SIGCONT)
}

// Whatever a user lacks, it is named, and the command that is told allows all.
func TestCheckupFindsWhatAUserMayNot(t *testing.T) {
	srv := start(t)
	as := func(rules ...string) []Finding {
		args := []any{"ACL", "SETUSER", "limiter", "reset", "on", ">secret"}
		for _, rule := range rules {
			args = append(args, rule)
		}
		srv.do(t, args...)
		srv.do(t, "SCRIPT", "FLUSH")
		return checkupOf(t, Config{Addrs: []string{srv.Socket}, Username: "limiter", Password: "secret"}, AtStart)
	}
	all := strings.Fields(Permissions)
	keys := []string{"~plimsoll:*", "&plimsoll:*"}
	enough := as(append(keys, all...)...)
	expect(t, enough, "permissions", Fine)
	expect(t, enough, "server", Unseen, "INFO", InspectPermissions)
	if worst(enough) != Unseen {
		t.Errorf("with all that is needed: %+v", enough)
	}
	seeing := as(slices.Concat(keys, all, strings.Fields(InspectPermissions))...)
	if worst(seeing) != Fine {
		t.Errorf("with all that is needed to look: %+v", seeing)
	}
	for _, rule := range all[1:] {
		lacking := slices.DeleteFunc(slices.Concat(keys, all), func(r string) bool { return r == rule })
		command := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(rule, "+"), "|", " "))
		expect(t, as(lacking...), "permissions", Fault, "may not", command, "ACL SETUSER limiter '~plimsoll:*' '&plimsoll:*' "+Permissions)
	}
	elsewhere := Config{Addrs: []string{srv.Socket}, Username: "limiter", Password: "secret", DB: 1}
	as(append(keys, all...)...)
	expect(t, checkupOf(t, elsewhere, AtStart), "permissions", Fault, "may not run SELECT", "+select, then")
	as(append(keys, append(all, "+select")...)...)
	expect(t, checkupOf(t, elsewhere, AtStart), "permissions", Fine)
	expect(t, as(append([]string{"~other:*", "&other:*"}, all...)...), "permissions", Fault, "keys that begin with plimsoll:")
}

// A replica takes no writes, and a master with replicas needs its guards.
func TestCheckupOfReplicas(t *testing.T) {
	port, second := redistest.FreePort(), redistest.FreePort()
	master := start(t, "--port", port, "--bind", "127.0.0.1")
	replica := start(t, "--port", second, "--bind", "127.0.0.1", "--replicaof", "127.0.0.1 "+port)
	eventually(t, "the replica is in step", func() bool {
		return strings.Contains(fmt.Sprint(master.do(t, "INFO", "replication")), "state=online")
	})
	findings := checkupOf(t, Config{Addrs: []string{replica.Socket}}, AtStart)
	expect(t, findings, "role", Fault, "a replica of 127.0.0.1:"+port, "REPLICAOF NO ONE")
	expect(t, findings, "scripts", Fault, "READONLY")
	look := func() []Finding { return checkupOf(t, Config{Addrs: []string{master.Socket}}, AtStart) }
	expect(t, look(), "replicas", Warning, "1 connected", "granted twice", "min-replicas-to-write 1", "min-replicas-max-lag 2")
	master.do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	expect(t, look(), "replicas", Fine, "1 in step")
	replica.Kill()
	eventually(t, "the replica is missed", func() bool {
		return strings.Contains(fmt.Sprint(master.do(t, "INFO", "replication")), "min_slaves_good_slaves:0")
	})
	gone := look()
	expect(t, gone, "replicas", Fault, "NOREPLICAS")
	expect(t, gone, "scripts", Fault, "NOREPLICAS")
}

func TestCheckupOfACluster(t *testing.T) {
	c, s := startCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	findings := s.Checkup(ctx, time.Second, AtStart)
	expect(t, findings, "cluster", Fine, "state ok, 16384 of 16384 slots served by 2 masters")
	expect(t, findings, "coverage", Warning, "CLUSTERDOWN", "cluster-require-full-coverage no")
	expect(t, findings, "replicas", Warning, "127.0.0.1:")
	expect(t, findings, "version", Fine, "1 masters more alike")
	expect(t, findings, "scripts", Fine)
	for _, n := range c.nodes {
		n.do(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	expect(t, checkupOf(t, Config{Addrs: []string{c.nodes[0].Socket}}, AtStart), "mode", Fault, "store.redis.mode: cluster")
	c.nodes[1].do(t, "CLUSTER", "DELSLOTS", "16383")
	eventually(t, "the slot is missed", func() bool {
		f, _ := find(s.Checkup(ctx, time.Second, AtStart), "cluster")
		return f.Severity == Fault && strings.Contains(f.Seen, "16383 of 16384")
	})

	// The permissions that are told for a cluster are enough.
	for _, n := range c.nodes {
		args := []any{"ACL", "SETUSER", "limiter", "reset", "on", ">secret", "~plimsoll:*", "&plimsoll:*"}
		for rule := range strings.FieldsSeq(ClusterPermissions + " " + InspectPermissions) {
			args = append(args, rule)
		}
		n.do(t, args...)
	}
	c.nodes[1].do(t, "CLUSTER", "ADDSLOTS", "16383")
	addrs := []string{"127.0.0.1:" + c.ports[0], "127.0.0.1:" + c.ports[1]}
	eventually(t, "a user with the permissions may do all", func() bool {
		got := checkupOf(t, Config{Addrs: addrs, Cluster: true, Username: "limiter", Password: "secret"}, AtStart)
		f, _ := find(got, "scripts")
		g, _ := find(got, "cluster")
		return f.Check != "" && f.Severity == Fine && g.Severity == Fine
	})
}

func TestCheckupOfAServerThatIsNoCluster(t *testing.T) {
	port := redistest.FreePort()
	start(t, "--port", port, "--bind", "127.0.0.1")
	expect(t, checkupOf(t, Config{Addrs: []string{"127.0.0.1:" + port}, Cluster: true}, AtStart), "reachable", Fault, "no node of a cluster", "store.redis.mode: single")
}

// Sentinels that are too few, that know no such master, or that could not
// promote anybody, are found.
func TestCheckupOfSentinels(t *testing.T) {
	ports := [2]string{redistest.FreePort(), redistest.FreePort()}
	start(t, "--port", ports[0], "--bind", "127.0.0.1")
	start(t, "--port", ports[1], "--bind", "127.0.0.1", "--replicaof", "127.0.0.1 "+ports[0])
	sentinel := redistest.Prepare(t, redistest.Config{TCP: true, Sentinel: true, Settings: fmt.Sprintf("sentinel monitor main 127.0.0.1 %s 2\n", ports[0])})
	sentinel.MustLaunch(t)
	look := func(master string) []Finding {
		return checkupOf(t, Config{Addrs: []string{sentinel.Addr, "127.0.0.1:" + redistest.FreePort()}, Master: master}, AtStart)
	}
	findings := look("main")
	expect(t, findings, "sentinels", Warning, "1 of 2 answer", "three or more")
	expect(t, findings, "sentinel", Warning, "nobody listens there")
	expect(t, findings, "quorum", Fault, "NOQUORUM", "SENTINEL RESET main")
	expect(t, findings, "failover", Warning, "missed after 30s", "SENTINEL SET main down-after-milliseconds 2000")
	expect(t, findings, "reachable", Fine)
	expect(t, findings, "role", Fine, "master")
	other := look("other")
	expect(t, other, "sentinel", Fault, `no master "other"`, "SENTINEL MASTERS")
	expect(t, other, "reachable", Fault)
}

// What cannot be brought about here is judged from what such a server says.
func TestCheckupJudges(t *testing.T) {
	old := about{info: info{"redis_version": "4.0.14"}}
	expect(t, []Finding{old.version()}, "version", Fault, "Redis 4.0.14", "run Redis 5.0 or later")
	expect(t, []Finding{(&about{info: info{"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.1"}}).version()},
		"version", Fine, "valkey 8.1.1, as Redis 7.2.4")
	for version, want := range map[string]bool{"4.0.14": true, "5.0": false, "5.0.0": false, "5": true, "10.1": false, "4.9": true, "255.255.255": false, "": true} {
		if got := older(version, MinVersion); got != want && version != "" {
			t.Errorf("%s older than %s: %v", version, MinVersion, got)
		}
	}
	ms := time.Millisecond
	fast, slow := make([]time.Duration, 100), slices.Repeat([]time.Duration{5 * ms}, 100)
	expect(t, []Finding{judgeLatency(fast, 2*ms)}, "latency", Fine, "budget is 2ms, and 0 were above it")
	expect(t, []Finding{judgeLatency(append(slices.Clone(fast), slow[:5]...), 2*ms)}, "latency", Warning, "5 were above it", "budget: 11ms")
	expect(t, []Finding{judgeLatency(append(slices.Clone(fast[:20]), slow...), 2*ms)}, "latency", Fault)
	expect(t, []Finding{judgeClock(-time.Hour, ms)}, "clock", Warning, "-1h0m0s apart", "synchronise")
	expect(t, []Finding{judgeClock(time.Second, ms)}, "clock", Fine)
}

func TestFindingsAreReadable(t *testing.T) {
	text, err := json.Marshal(Finding{Check: "role", Severity: Fault, Seen: "x"})
	if err != nil || string(text) != `{"check":"role","severity":"fault","seen":"x"}` {
		t.Errorf("%s %v", text, err)
	}
	if Severity(99).String() != "unknown" {
		t.Error("a severity of no name")
	}
	if f := explain(errors.New("odd")); f.Severity != Fault || f.Cure == "" {
		t.Errorf("an odd error: %+v", f)
	}
}

// The page for operators says what the code says.
func TestThePageForOperatorsIsRight(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations-redis.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"'~plimsoll:*' '&plimsoll:*' " + Permissions + "\n", strings.TrimPrefix(ClusterPermissions, Permissions+" "), InspectPermissions,
		"Redis " + MinVersion + " or later", fmt.Sprintf("latency of %d claims", samples),
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("it does not say %q", part)
		}
	}
}
