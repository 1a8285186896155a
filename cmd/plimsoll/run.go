package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/internal/process"
)

// overrides are the settings that flags may change: the flag's name, and the
// variable of the environment that means the same and that the flag goes above.
var overrides = []struct{ flag, variable, usage string }{
	{"upstream", "PLIMSOLL_UPSTREAM", "service to protect, such as http://127.0.0.1:9000"},
	{"listen", "PLIMSOLL_LISTEN", "address on which requests are taken"},
	{"admin-listen", "PLIMSOLL_ADMIN_LISTEN", "address for health, readiness, metrics and status"},
}

func runCommand() *cobra.Command {
	path := ""
	c := &cobra.Command{
		Use:   "run",
		Short: "Protect a service",
		Long: `Run takes requests, lets through what the service can do, and passes them on to it.

Without --config the built-in configuration holds: see plimsoll config default.
Flags go above the environment, and both above the file; they name places only,
the file alone says how the service is protected.

SIGHUP, and a change of the file, reload it without losing a bucket or a request
in flight; a faulty file leaves the last good one running, and plimsoll status says
so. SIGTERM drains: no new requests, those in flight end within server.grace.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := process.New(process.Config{
				Path: path, Log: c.ErrOrStderr(), Version: version(), Overlays: []config.Overlay{overlay(c)},
				StateDir: stateDir(os.Getenv),
			})
			if err != nil {
				return err
			}
			defer reloadOnHangup(c.Context(), p)()
			return p.Run(c.Context())
		},
	}
	c.Flags().StringVar(&path, "config", "", "file to run by, and to watch (default: the built-in configuration)")
	for _, o := range overrides {
		c.Flags().String(o.flag, "", o.usage)
	}
	return c
}

// stateDir is where overrides are kept when the file does not say: the
// directory that the service manager gives, or the user's own for state.
func stateDir(getenv func(string) string) string {
	if dir, _, _ := strings.Cut(getenv("STATE_DIRECTORY"), ":"); dir != "" {
		return filepath.Join(dir, "control")
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "plimsoll", "control")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "plimsoll", "control")
	}
	return ""
}

// overlay applies the environment and, above it, the flags. Problems name
// where the value came from.
func overlay(c *cobra.Command) config.Overlay {
	given := map[string]string{} // by variable
	flags := map[string]string{}
	for _, o := range overrides {
		if f := c.Flags().Lookup(o.flag); f.Changed {
			given[o.variable], flags[o.variable] = f.Value.String(), "--"+o.flag
		}
	}
	environment := config.Environment(func(name string) (string, bool) {
		if value, ok := given[name]; ok {
			return value, true
		}
		return os.LookupEnv(name)
	})
	return func(f *config.File) config.Errors {
		problems := environment(f)
		for i := range problems {
			if flag, ok := flags[problems[i].Path]; ok {
				problems[i].File, problems[i].Path = "", flag
			}
		}
		return problems
	}
}

// reloadOnHangup reloads at each SIGHUP, until what it returns is called.
func reloadOnHangup(ctx context.Context, p *process.Process) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				_ = p.Reload() // why it failed is in the log and in the status already
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		cancel()
	}
}
