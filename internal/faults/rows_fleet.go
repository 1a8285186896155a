package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// fleets are the faults of servers that stand in for each other.
func fleets() []Row {
	return []Row{
		{
			Name: "sentinel", Section: Fleets, Fault: "the master that sentinels watch is killed", Heals: "the replica takes over; from the kill",
			Loss: "what was not replicated", Losses: 1, Leases: true, FromBreak: true,
			Build: sentinels, Heal: failedOver, Break: func(_ context.Context, w *World) error {
				w.Server().Kill()
				return nil
			},
		},
		{
			Name: "split-brain", Section: Fleets, Fault: "cut off with the old master, while a replica is promoted", Heals: "the old master is demoted",
			Sees: "nothing: the old master decides", Loss: "all that the old master decided meanwhile; both sides admit", Losses: 1, Leases: true, Effect: Fails,
			Build: pair(), Break: cutOff, Heal: reunite,
		},
		{
			Name: "split-brain-guarded", Section: Fleets, Fault: "the same, with `min-replicas-to-write 1`", Heals: "the old master is demoted",
			Loss: "what the old master decided before its guard noticed", Losses: 1, Leases: true,
			Build: pair("--min-replicas-to-write", "1", "--min-replicas-max-lag", "3"), Break: cutOff, Heal: reunite,
		},
		{
			Name: "slots-move", Section: Fleets, Fault: "slots of a cluster migrate (`ASK`, `MOVED`)", Heals: "the new place is known",
			Sees: "callers whose keys are moving fall back", Effect: Fails,
			Build: func(ctx context.Context) (*World, error) { return cluster(ctx, 2, 0) }, Break: moveSlots,
		},
		{
			Name: "cluster-master", Section: Fleets, Fault: "one of three masters of a cluster is killed", Heals: "its replica takes over; from the kill",
			Sees: "callers whose keys it had fall back", Loss: "what was not replicated", Losses: 1, Leases: true, FromBreak: true, Effect: Hurts,
			Build: func(ctx context.Context) (*World, error) { return cluster(ctx, 3, 1) }, Heal: slotsCovered,
			Break: func(_ context.Context, w *World) error {
				w.Server().Kill()
				return nil
			},
		},
		{
			Name: "cluster-master-hung", Section: Fleets, Fault: "one of three masters of a cluster hangs", Heals: "its replica takes over; from the hang",
			Sees: "all callers fall back until it is given up: calls for several nodes leave together", Loss: "what was not replicated", Losses: 1, Leases: true, FromBreak: true,
			Silent: true, Build: func(ctx context.Context) (*World, error) { return cluster(ctx, 3, 1) }, Break: signal(syscall.SIGSTOP), Heal: func(ctx context.Context, w *World) error {
				err := slotsCovered(ctx, w)
				return errors.Join(err, w.Server().Signal(syscall.SIGCONT)) // it finds that it is a replica
			},
		},
	}
}

// sentinels is a master with a replica, and three sentinels.
func sentinels(ctx context.Context) (*World, error) {
	w := &World{}
	master, err := w.add(ctx, redistest.Config{TCP: true})
	if err != nil {
		return w, err
	}
	host, port, _ := net.SplitHostPort(master.Addr)
	if _, err := w.add(ctx, redistest.Config{TCP: true, Args: []string{"--replicaof", host + " " + port}}); err != nil {
		return w, err
	}
	watch := fmt.Sprintf("sentinel monitor main %s %s 2\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 4000\n", host, port)
	var known []*redistest.Server
	for range 3 {
		s, err := w.add(ctx, redistest.Config{TCP: true, Sentinel: true, Settings: watch})
		if err != nil {
			return w, err
		}
		known = append(known, s)
		w.Worker.Addrs = append(w.Worker.Addrs, s.Addr)
	}
	w.Worker.Master = "main"
	w.Auditor = w.Worker
	return w, until(ctx, "the sentinels know each other and the replica", func() bool {
		for _, s := range known {
			info, err := s.Admin.Info(ctx, "sentinel").Result()
			if err != nil || !strings.Contains(info, "slaves=1,sentinels=3") {
				return false
			}
		}
		return replicates(ctx, w.Servers[1])
	})
}

func replicates(ctx context.Context, s *redistest.Server) bool {
	info, err := s.Admin.Info(ctx, "replication").Result()
	return err == nil && field(info, "master_link_status") == "up"
}

// failedOver waits until the replica is the master.
func failedOver(ctx context.Context, w *World) error {
	return until(ctx, "the replica takes over", func() bool {
		info, err := w.Servers[1].Admin.Info(ctx, "replication").Result()
		return err == nil && field(info, "role") == "master"
	})
}

// pair is a master, and a replica whose way to it can be cut; the worker's way
// leads to the master until it is pointed elsewhere, as an address that moves.
func pair(args ...string) func(context.Context) (*World, error) {
	return func(ctx context.Context) (*World, error) {
		w := &World{}
		master, err := w.add(ctx, redistest.Config{TCP: true, Args: args})
		if err != nil {
			return w, err
		}
		if w.between, err = redistest.NewProxy(master.Addr); err != nil {
			return w, err
		}
		w.ends = append(w.ends, w.between.Close)
		host, port, _ := net.SplitHostPort(w.between.Addr())
		replica, err := w.add(ctx, redistest.Config{TCP: true, Args: []string{"--replicaof", host + " " + port}})
		if err != nil {
			return w, err
		}
		if err := w.interpose(master.Addr); err != nil {
			return w, err
		}
		w.Auditor.Addrs = []string{replica.Socket}
		return w, until(ctx, "the replica has all", func() bool { return replicates(ctx, replica) })
	}
}

// cutOff parts the master from its replica, which is promoted.
func cutOff(ctx context.Context, w *World) error {
	w.between.Hold()
	return w.Servers[1].Admin.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
}

// reunite makes the promoted replica the only master.
func reunite(ctx context.Context, w *World) error {
	w.between.Refuse()
	w.between.Reset()
	host, port, _ := net.SplitHostPort(w.Servers[1].Addr)
	if err := w.do(ctx, "REPLICAOF", host, port); err != nil {
		return err
	}
	w.Proxy.Point(w.Servers[1].Addr)
	w.Proxy.Reset()
	return nil
}

// cluster is so many masters, with so many replicas each.
func cluster(ctx context.Context, masters, replicas int) (*World, error) {
	w := &World{}
	for range masters * (1 + replicas) {
		s, err := w.add(ctx, redistest.Config{TCP: true, Args: []string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "750", "--cluster-require-full-coverage", "no",
		}})
		if err != nil {
			return w, err
		}
		w.Worker.Addrs = append(w.Worker.Addrs, s.Addr)
	}
	w.Worker.Cluster = true
	w.Auditor = w.Worker
	if err := w.meet(ctx, masters); err != nil {
		return w, err
	}
	return w, until(ctx, "the nodes are one cluster", func() bool {
		for i, s := range w.Servers {
			info, err := s.Admin.ClusterInfo(ctx).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") || i >= masters && !replicates(ctx, s) {
				return false
			}
		}
		return true
	})
}

// meet makes the servers one cluster.
func (w *World) meet(ctx context.Context, masters int) error {
	host, port, _ := net.SplitHostPort(w.Server().Addr)
	for i, s := range w.Servers {
		if i < masters {
			if err := s.Admin.ClusterAddSlotsRange(ctx, i*16384/masters, (i+1)*16384/masters-1).Err(); err != nil {
				return err
			}
		}
		if i > 0 {
			if err := s.Admin.ClusterMeet(ctx, host, port).Err(); err != nil {
				return err
			}
		}
	}
	for i, s := range w.Servers[masters:] {
		master, err := w.Servers[i%masters].Admin.ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		if err := until(ctx, "the replica knows its master", func() bool { return s.Admin.ClusterReplicate(ctx, master).Err() == nil }); err != nil {
			return err
		}
	}
	return nil
}

// slotsCovered waits until the replica has the slots of the master that is gone.
func slotsCovered(ctx context.Context, w *World) error {
	return until(ctx, "the replica takes over", func() bool {
		info, err := w.Servers[len(w.Servers)/2].Admin.Info(ctx, "replication").Result()
		return err == nil && field(info, "role") == "master"
	})
}

// moving is how many slots move.
const moving = 1024

// moveSlots moves slots and their keys from the first node to the second.
func moveSlots(ctx context.Context, w *World) error {
	from, to := w.Servers[0].Admin, w.Servers[1].Admin
	source, err1 := from.ClusterMyID(ctx).Result()
	target, err2 := to.ClusterMyID(ctx).Result()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(w.Servers[1].Addr)
	for slot := range moving {
		err1 := to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", source).Err()
		err2 := from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", target).Err()
		keys, err3 := from.ClusterGetKeysInSlot(ctx, slot, 1000).Result()
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if len(keys) > 0 {
			args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
			for _, key := range keys {
				args = append(args, key)
			}
			if err := from.Do(ctx, args...).Err(); err != nil {
				return err
			}
		}
		err1 = to.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target).Err()
		err2 = from.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target).Err()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
	}
	return nil
}
