package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Rows is the tour.
func Rows() []Row {
	var rows []Row
	for _, section := range [][]Row{gone(), answers(), forgets(), network(), fleets()} {
		rows = append(rows, section...)
	}
	return rows
}

func signal(sig syscall.Signal) func(context.Context, *World) error {
	return func(_ context.Context, w *World) error { return w.Server().Signal(sig) }
}

func answersAgain(ctx context.Context, w *World) error { return w.Server().Ready(ctx) }

func launch(ctx context.Context, w *World) error { return w.Server().Launch(ctx) }

// gone are the faults of a server that is not there, or does not answer.
func gone() []Row {
	return []Row{
		{
			Name: "hung", Section: Gone, Fault: "server hung (SIGSTOP)", Heals: "it goes on (SIGCONT)",
			Build: direct(), Break: signal(syscall.SIGSTOP), Heal: signal(syscall.SIGCONT), Silent: true,
		},
		{
			Name: "killed", Section: Gone, Fault: "server killed (SIGKILL), and started again empty", Heals: "started again",
			Loss: "all state", Losses: 1,
			Build: direct(), Heal: launch, Break: func(_ context.Context, w *World) error {
				w.Server().Kill()
				return nil
			},
		},
		{
			Name: "restarted", Section: Gone, Fault: "server stopped (SIGTERM), and started again on its append-only file", Heals: "started again",
			Build: direct("--appendonly", "yes"), Heal: launch, Break: func(_ context.Context, w *World) error {
				w.Server().Shutdown()
				return nil
			},
		},
		{
			Name: "paused", Section: Gone, Fault: "`CLIENT PAUSE` of all commands", Heals: "the pause ends",
			Build: direct(), Heal: answersAgain, Silent: true, Break: func(ctx context.Context, w *World) error {
				return w.do(ctx, "CLIENT", "PAUSE", w.lasts().Milliseconds(), "ALL")
			},
		},
		{
			Name: "paused-writes", Section: Gone, Fault: "`CLIENT PAUSE` of writes: `PING` and `GET` are answered", Heals: "`CLIENT UNPAUSE`",
			Build: direct(), Break: commands([]any{"CLIENT", "PAUSE", 600_000, "WRITE"}), Heal: commands([]any{"CLIENT", "UNPAUSE"}), Silent: true,
		},
		{
			Name: "blocked", Section: Gone, Fault: "one command that takes seconds", Heals: "it ends",
			Build: direct("--enable-debug-command", "yes"), Silent: true, Heal: answersAgain,
			Break: func(ctx context.Context, w *World) error {
				go w.Server().Admin.Do(context.WithoutCancel(ctx), "DEBUG", "SLEEP", w.lasts().Seconds())
				return nil
			},
		},
	}
}

// answers are the faults of a server that is there, and cannot decide.
func answers() []Row {
	return []Row{
		{
			Name: "busy", Section: Answers, Fault: "a script that does not end (`BUSY`)", Heals: "`SCRIPT KILL`",
			Build: direct("--busy-reply-threshold", "1"), Break: busy, Heal: commands([]any{"SCRIPT", "KILL"}),
		},
		{
			Name: "out-of-memory", Section: Answers, Fault: "out of memory, `noeviction` (`OOM`)", Heals: "room",
			Build: direct(), Break: commands([]any{"CONFIG", "SET", "maxmemory", "1"}), Heal: commands([]any{"CONFIG", "SET", "maxmemory", "0"}),
		},
		{
			Name: "read-only", Section: Answers, Fault: "demoted to a replica (`READONLY`)", Heals: "promoted",
			Build: direct(), Break: commands([]any{"REPLICAOF", "127.0.0.1", "1"}), Heal: commands([]any{"REPLICAOF", "NO", "ONE"}),
		},
		{
			Name: "master-down", Section: Answers, Fault: "a replica that may not serve stale data (`MASTERDOWN`)", Heals: "promoted",
			Build: direct("--replica-serve-stale-data", "no"), Break: commands([]any{"REPLICAOF", "127.0.0.1", "1"}), Heal: commands([]any{"REPLICAOF", "NO", "ONE"}),
		},
		{
			Name: "no-replicas", Section: Answers, Fault: "`min-replicas-to-write`, and too few (`NOREPLICAS`)", Heals: "replicas, or the setting",
			Build: direct(), Break: commands([]any{"CONFIG", "SET", "min-replicas-to-write", "1"}), Heal: commands([]any{"CONFIG", "SET", "min-replicas-to-write", "0"}),
		},
		{
			Name: "no-snapshot", Section: Answers, Fault: "a snapshot that cannot be written (`MISCONF`)", Heals: "`stop-writes-on-bgsave-error no`",
			Build: direct(), Break: failSnapshot, Heal: commands([]any{"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"}),
		},
		{
			Name: "loading", Section: Answers, Fault: "started again, and loading for long (`LOADING`)", Heals: "it has loaded",
			Loss: "what was not saved", Losses: 1, Leases: true,
			Build: direct("--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"),
			Break: loadSlowly, Heal: func(ctx context.Context, w *World) error {
				return orReady(ctx, w, w.do(ctx, "CONFIG", "SET", "key-load-delay", "0"))
			},
		},
		{
			Name: "password", Section: Answers, Fault: "another password (`NOAUTH`), connections cut", Heals: "the old one",
			Build: direct(), Heal: commands([]any{"CONFIG", "SET", "requirepass", ""}),
			Break: commands([]any{"CONFIG", "SET", "requirepass", "new"}, []any{"AUTH", "new"}, []any{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}),
		},
		{
			Name: "permission", Section: Answers, Fault: "the user may not run scripts any more (`NOPERM`)", Heals: "the permission",
			Build: direct(), Break: commands([]any{"ACL", "SETUSER", "default", "-evalsha"}), Heal: commands([]any{"ACL", "SETUSER", "default", "+evalsha"}),
		},
		{
			Name: "clients", Section: Answers, Fault: "`maxclients` reached, connections cut", Heals: "room for clients",
			Build: direct(), Break: commands([]any{"CONFIG", "SET", "maxclients", "1"}, []any{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}),
			Heal: commands([]any{"CONFIG", "SET", "maxclients", "1000"}),
		},
		{
			Name: "wrong-type", Section: Answers, Fault: "data of another type under some callers' keys (`WRONGTYPE`)", Heals: "the keys are deleted",
			Sees: "those callers alone fall back", Effect: Spares, Spoils: true,
			Build: direct(), Break: spoil, Heal: unspoil,
		},
	}
}

// forgets are the faults of a server that loses something and goes on.
func forgets() []Row {
	return []Row{
		{
			Name: "scripts", Section: Forgets, Fault: "`SCRIPT FLUSH` (`NOSCRIPT`)", Heals: "the script is loaded again, once",
			Effect: Spares, Build: direct(), Break: commands([]any{"SCRIPT", "FLUSH"}), Check: loadedOnce,
		},
		{
			Name: "flushed", Section: Forgets, Fault: "`FLUSHALL`", Heals: "nothing to heal", Loss: "all state", Losses: 1,
			Effect: Spares, Build: direct(), Break: commands([]any{"FLUSHALL"}),
		},
	}
}

func busy(ctx context.Context, w *World) error {
	go w.Server().Admin.Eval(context.WithoutCancel(ctx), "while true do end", nil)
	return until(ctx, "it is busy", func() bool {
		err := w.Server().Admin.Ping(ctx).Err()
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	})
}

// failSnapshot puts a folder where the snapshot is to be.
func failSnapshot(ctx context.Context, w *World) error {
	if err := os.MkdirAll(filepath.Join(w.Server().Dir, "dump.rdb", "x"), 0o700); err != nil {
		return err
	}
	if err := commands([]any{"CONFIG", "SET", "save", "3600 1000000"}, []any{"BGSAVE"})(ctx, w); err != nil {
		return err
	}
	return until(ctx, "the snapshot fails", func() bool {
		info, err := w.Server().Admin.Info(ctx, "persistence").Result()
		return err == nil && field(info, "rdb_last_bgsave_status") == "err"
	})
}

// loadSlowly starts the server again on much data that it reads slowly.
func loadSlowly(ctx context.Context, w *World) error {
	if err := commands([]any{"DEBUG", "POPULATE", 200_000}, []any{"SAVE"})(ctx, w); err != nil {
		return err
	}
	w.Server().Kill()
	w.Server().Again("--key-load-delay", "100")
	if err := w.Server().Run(); err != nil {
		return err
	}
	return until(ctx, "it is loading", func() bool {
		err := w.Server().Admin.Ping(ctx).Err()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	})
}

func orReady(ctx context.Context, w *World, err error) error {
	if err != nil {
		return err
	}
	return w.Server().Ready(ctx)
}

// eachSpoiled runs commands on the key of each caller that is spoiled.
func eachSpoiled(ctx context.Context, w *World, list func(key string) [][]any) error {
	for n := range spoiledCallers {
		if err := commands(list("plimsoll:{"+ownerOf(spoiledName(10*n)).String()+"}t")...)(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func spoil(ctx context.Context, w *World) error {
	return eachSpoiled(ctx, w, func(key string) [][]any { return [][]any{{"DEL", key}, {"LPUSH", key, "x"}} })
}

func unspoil(ctx context.Context, w *World) error {
	return eachSpoiled(ctx, w, func(key string) [][]any { return [][]any{{"DEL", key}} })
}

// loadedOnce holds the worker to one loading of each script since the flush.
func loadedOnce(ctx context.Context, w *World, _ *Result) error {
	info, err := w.Server().Admin.Info(ctx, "commandstats").Result()
	if err != nil {
		return err
	}
	calls, _, _ := strings.Cut(strings.TrimPrefix(field(info, "cmdstat_script|load"), "calls="), ",")
	// Claims and returns have a script each, the auditor loads nothing anew.
	if n, err := strconv.Atoi(calls); err != nil || n > 2*2 {
		return fmt.Errorf("scripts were loaded %s times, which is a storm", calls)
	}
	return nil
}

// until waits for what a server comes to, for a minute at most.
func until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !ok() {
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}
