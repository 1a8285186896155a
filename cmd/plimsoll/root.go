package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/internal/operator"
)

// The exit codes.
const (
	exitOK    = 0
	exitNo    = 1 // it could not be done, or the answer is no
	exitUsage = 2
)

// errNo is an answer that has been printed already: only its exit code is left.
var errNo = errors.New("no")

// usageError is a fault of the call itself.
type usageError struct{ error }

// Unwrap is the fault.
func (e usageError) Unwrap() error { return e.error }

// run carries out one call of the command.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := rootCommand()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "plimsoll: %v\n\nTry: %s --help\n", err, command.CommandPath())
		return exitUsage
	case !errors.Is(err, errNo):
		fmt.Fprintln(os.Stderr, "plimsoll:", err)
	}
	if f, ok := errors.AsType[*operator.Failure](err); ok {
		if f.Key != "" {
			fmt.Fprintf(os.Stderr, "Look with plimsoll overrides, or repeat the command with --retry %s: it is not done twice.\n", f.Key)
		}
		return f.Kind.ExitCode()
	}
	return exitNo
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "Keep a service within the load that it can take",
		Long: `Plimsoll runs four stages in front of an HTTP service: a rate limit and a limit on
requests in flight for each caller, a share of the fleet kept for critical traffic,
and a shedder that protects the worker itself.

Start with plimsoll demo. In the night: docs/incident.md.

Exit codes: 0 done, 1 it could not be done or the answer is no, 2 not called rightly,
3 nobody answers and nothing was changed, 4 not allowed, 5 something else was changed
meanwhile, 6 it is not known whether the change was made: the message says how to repeat it.`,
		Version:       version(),
		Args:          noArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(checkCommand(), configCommand(), demoCommand(), doctorCommand(), manCommand(), runCommand(), simulateCommand(), versionCommand())
	root.AddCommand(operators()...)
	return root
}

// operators are the commands that ask a running process, or change what it does.
func operators() []*cobra.Command {
	return []*cobra.Command{
		statusCommand(), topCommand(), overridesCommand(), shedCommand(), restoreCommand(), stageCommand(), callerCommand(), limitCommand(),
		reserveCommand(), pinCommand(), releaseCommand(), bypassCommand(), approveCommand(), extendCommand(), undoCommand(), gameDayCommand(),
		whyCommand(), explainCommand(), refusalsCommand(), holdersCommand(), auditCommand(), reportCommand(), tokenCommand(),
	}
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no %q", c.CommandPath(), args[0])}
	}
	return nil
}

func oneArg(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%s takes one %s, got %d", c.CommandPath(), name, len(args))}
		}
		return nil
	}
}
