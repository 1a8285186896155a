package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// MinVersion is the oldest version of Redis whose scripts may ask for the time
// and write: the scripts of this package do both.
const MinVersion = "5.0"

// servers looks at what each server says of itself.
func (e *checkup) servers(ctx context.Context) {
	nodes, err := e.nodes(ctx)
	if err != nil {
		e.add(explain(err))
		return
	}
	var each [][]Finding
	for _, n := range nodes {
		each = append(each, e.server(ctx, n))
	}
	e.add(together(nodes, each)...)
}

// together is the findings of several servers: what is wrong with any, else one
// for all.
func together(nodes []node, each [][]Finding) (all []Finding) {
	if len(nodes) == 1 {
		return each[0]
	}
	checks := map[string]bool{}
	for _, findings := range each {
		for _, f := range findings {
			if !checks[f.Check] {
				checks[f.Check] = true
				all = append(all, ofAll(f.Check, nodes, each)...)
			}
		}
	}
	return all
}

func ofAll(check string, nodes []node, each [][]Finding) (wrong []Finding) {
	var fine []Finding
	for i, findings := range each {
		for _, f := range findings {
			if f.Check != check {
				continue
			}
			f.Seen = nodes[i].name + ": " + f.Seen
			if f.Severity == Fine {
				fine = append(fine, f)
			} else {
				wrong = append(wrong, f)
			}
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	if len(fine) > 1 {
		fine[0].Seen += fmt.Sprintf(", and %d masters more alike", len(fine)-1)
	}
	return fine[:1]
}

// info is what a server says of itself, by name.
type info map[string]string

func parseInfo(text string) info {
	i := info{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			i[name] = value
		}
	}
	return i
}

func (i info) number(name string) int64 {
	n, _ := strconv.ParseInt(i[name], 10, 64)
	return n
}

// about is a server with what it says of itself, and of its settings.
type about struct {
	info
	setting func(name string) string // "" when it is not known
	watched bool                     // a sentinel or a cluster may promote another
	cluster bool                     // as the configuration has it
	pool    int
}

func (e *checkup) server(ctx context.Context, n node) []Finding {
	text := ""
	err := e.do(ctx, func(ctx context.Context) (err error) {
		text, err = n.client.Info(ctx).Result()
		return err
	})
	if err != nil {
		return []Finding{{Check: "server", Severity: Unseen, Seen: "INFO: " + err.Error(),
			Why:  "version, role, eviction, persistence, replicas and memory are not known",
			Cure: "ACL SETUSER <user> " + InspectPermissions + "; or run doctor as another user: PLIMSOLL_STORE_DSN"}}
	}
	a := &about{
		info: parseInfo(text), cluster: e.store.cluster, pool: e.store.Connections(),
		watched: e.store.config.Master != "" || e.store.cluster,
		setting: func(name string) string { return e.setting(ctx, n, name) },
	}
	return []Finding{a.version(), a.mode(), a.role(), a.eviction(), a.memory(), a.persistence(), a.replicas(), a.clients()}
}

// setting is a setting of a server, or "" when the user may not ask.
func (e *checkup) setting(ctx context.Context, n node, name string) (value string) {
	_ = e.do(ctx, func(ctx context.Context) error {
		settings, err := n.client.ConfigGet(ctx, name).Result()
		value = settings[name]
		return err
	})
	return value
}

func (a *about) version() Finding {
	f := Finding{Check: "version", Seen: "Redis " + a.info["redis_version"]}
	if name := a.info["server_name"]; name != "" && name != "redis" {
		f.Seen = fmt.Sprintf("%s %s, as Redis %s", name, a.info[name+"_version"], a.info["redis_version"])
	}
	if older(a.info["redis_version"], MinVersion) {
		f.Severity, f.Why = Fault, "its scripts cannot ask for the time and write, so no limit can be counted"
		f.Cure = "run Redis " + MinVersion + " or later; 6.2 or later has what access lists need, and its repairs"
	}
	return f
}

// older compares versions by their numbers.
func older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range b {
		if i >= len(a) {
			return true
		}
		x, err1 := strconv.Atoi(a[i])
		y, err2 := strconv.Atoi(b[i])
		if err1 != nil || err2 != nil || x != y {
			return err1 == nil && err2 == nil && x < y
		}
	}
	return false
}

func (a *about) mode() Finding {
	clustered := a.info["cluster_enabled"] == "1"
	switch {
	case clustered && !a.cluster:
		return Finding{Check: "mode", Severity: Fault, Seen: "it is a node of a cluster",
			Why: "keys of other nodes cannot be used through it", Cure: "set store.redis.mode: cluster"}
	case !clustered && a.cluster:
		return Finding{Check: "mode", Severity: Fault, Seen: "it is no node of a cluster",
			Why: "no server can be found by key", Cure: "set store.redis.mode: single or sentinel"}
	case clustered:
		return Finding{Check: "mode", Seen: "a node of a cluster"}
	}
	return Finding{Check: "mode", Seen: "a server by itself"}
}

func (a *about) role() Finding {
	if a.info["role"] == "master" {
		return Finding{Check: "role", Seen: "master"}
	}
	return Finding{Check: "role", Severity: Fault, Seen: fmt.Sprintf("a replica of %s:%s", a.info["master_host"], a.info["master_port"]),
		Why:  "it takes no writes, so nothing can be counted",
		Cure: "name the master in store.redis.addresses, or let sentinels find it: store.redis.mode: sentinel; or make this one the master: REPLICAOF NO ONE"}
}

func (a *about) eviction() Finding {
	policy := a.info["maxmemory_policy"]
	f := Finding{Check: "eviction", Seen: "maxmemory-policy " + policy}
	switch {
	case policy == "noeviction" || policy == "":
		return f
	case a.number("maxmemory") > 0:
		f.Severity, f.Seen = Fault, fmt.Sprintf("%s, %d keys evicted so far", f.Seen, a.number("evicted_keys"))
	default:
		f.Severity, f.Seen = Warning, f.Seen+", which has no effect while maxmemory is 0"
	}
	f.Why = "a key that is evicted is a limit that is full again, and a slot that is counted no more: whoever sends enough different callers resets everybody's limits"
	f.Cure = "CONFIG SET maxmemory-policy noeviction, then CONFIG REWRITE; keep other data on a server of its own"
	return f
}

// full is the share of the memory from which a server is called full.
const full = 0.8

func (a *about) memory() Finding {
	used, most, what := a.number("used_memory"), a.number("maxmemory"), "maxmemory"
	if most == 0 {
		most, what = a.number("total_system_memory"), "the machine's memory, and maxmemory is 0"
	}
	share := float64(used) / float64(max(most, 1))
	f := Finding{Check: "memory", Seen: fmt.Sprintf("%s used, %.0f%% of %s", a.info["used_memory_human"], 100*share, what)}
	if most > 0 && share > full {
		f.Severity = Warning
		f.Why = "a full server refuses every claim (OOM), and each stage decides by its on_fault"
		f.Cure = fmt.Sprintf("CONFIG SET maxmemory %d, if the machine has it; a caller takes about 200 bytes", 2*most)
	}
	return f
}

func (a *about) persistence() Finding {
	f := Finding{Check: "persistence"}
	switch {
	case a.info["aof_enabled"] == "1" && a.info["aof_last_write_status"] == "err":
		f.Severity, f.Seen = Fault, "the last write to the append-only file failed"
	case a.info["rdb_last_bgsave_status"] == "err" && a.setting("stop-writes-on-bgsave-error") != "no":
		f.Severity, f.Seen = Fault, "the last snapshot failed, and then writes are refused (MISCONF)"
	case a.info["aof_enabled"] == "1" && a.setting("appendfsync") == "always":
		f.Severity, f.Seen = Warning, "every write waits for the disk (appendfsync always)"
		f.Why, f.Cure = "so does every decision", "CONFIG SET appendfsync everysec, then CONFIG REWRITE"
		return f
	case a.info["aof_enabled"] == "1":
		f.Seen = "an append-only file"
		return f
	case a.setting("save") != "":
		f.Seen = "snapshots"
		return f
	default:
		f.Seen = "none, or not seen: after a restart every limit is full once more, and no slot is held"
		return f
	}
	f.Why = "while the disk fails, every claim is refused by the server, and each stage decides by its on_fault"
	f.Cure = "make room on the disk of dir; or, as limits need no disk: CONFIG SET save '' and CONFIG SET appendonly no, then CONFIG REWRITE"
	return f
}

// replicas looks at what happens when the server and its replicas lose sight of
// each other.
func (a *about) replicas() Finding {
	n := a.number("connected_slaves")
	f := Finding{Check: "replicas", Seen: fmt.Sprintf("%d connected", n)}
	good, guarded := a.info["min_slaves_good_slaves"]
	least, _ := strconv.ParseInt(a.setting("min-replicas-to-write"), 10, 64)
	switch {
	case guarded && a.number("min_slaves_good_slaves") < least:
		f.Severity, f.Seen = Fault, fmt.Sprintf("%s in step, and min-replicas-to-write is %d: writes are refused (NOREPLICAS)", good, least)
		f.Why, f.Cure = "nothing can be counted until a replica is back", "bring the replicas back, or CONFIG SET min-replicas-to-write 0 for as long as they are away"
	case guarded:
		f.Seen += ", " + good + " in step; a master without them takes no writes"
	case n > 0 || a.watched:
		f.Severity, f.Seen = Warning, f.Seen+", and min-replicas-to-write is 0"
		f.Why = "a master that is cut off goes on granting beside the one that is promoted, until it hears of it: " +
			"for some ten seconds each limit is granted twice (burst + rate × that time), and what the old one counted is lost"
		f.Cure = "on each server that may be master: CONFIG SET min-replicas-to-write 1, CONFIG SET min-replicas-max-lag 2, then CONFIG REWRITE; " +
			"with two replicas or more, or the loss of one stops all writes"
	default:
		f.Seen = "none: when this server is lost, each stage decides by its on_fault until it is back"
	}
	return f
}

// clients looks at the room for connections.
func (a *about) clients() Finding {
	most, now := a.number("maxclients"), a.number("connected_clients")
	if most == 0 {
		most, _ = strconv.ParseInt(a.setting("maxclients"), 10, 64)
	}
	f := Finding{Check: "connections", Seen: fmt.Sprintf("%d of %d in use; a worker makes up to %d", now, most, a.pool)}
	if refused := a.number("rejected_connections"); refused > 0 {
		f.Seen += fmt.Sprintf("; %d were refused since the server started", refused)
	}
	if most > 0 && most-now < int64(a.pool) {
		f.Severity, f.Why = Warning, "there is no room for one worker more, nor for this one to come back"
		f.Cure = "CONFIG SET maxclients 10000, then CONFIG REWRITE, and raise the limit of open files of the server"
	}
	return f
}
