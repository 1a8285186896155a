// Command overload runs the experiments of package overload.
//
//	overload tour -experiments E1-3x,E2-one -repeats 5 -out docs/overload
//	overload tour -add -experiments E1-3x -repeats 2 -out docs/overload
//	overload run -contestant plimsoll -setting "1.5 times" -experiment E1-3x
//	overload torture -out docs/overload
//	overload fleet -out docs/overload
//	overload fleet -mixed -out docs/overload
//	overload draw -out docs/overload
//	overload list
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/plimsoll-go/plimsoll/bench/overload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // who does not want to wait for the end says it twice
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		stop()
		fmt.Fprintln(os.Stderr, "overload:", strings.TrimPrefix(err.Error(), "overload: "))
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

var errUsage = errors.New("say one of: tour, run, torture, fleet, draw, list (each takes -h)")

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "tour":
		return tour(ctx, args[1:])
	case "run":
		return run(ctx, args[1:], out)
	case "serve":
		return serve(ctx, args[1:], out)
	case "fleet":
		return fleetTour(ctx, args[1:], out)
	case "worker":
		return worker(ctx, args[1:], out)
	case "torture":
		return tortures(args[1:], out)
	case "draw":
		return draw(args[1:])
	case "list":
		return list(args[1:], out)
	}
	return fmt.Errorf("there is no command %q: %w", args[0], errUsage)
}

// runFlags are those that name one run.
func runFlags(name string) (*flag.FlagSet, *overload.Run) {
	flags, r := options(name), new(overload.Run)
	flags.StringVar(&r.Contestant, "contestant", "plimsoll", "who stands before the service")
	flags.StringVar(&r.Setting, "setting", "", "how it is set (default: the first that list shows)")
	flags.StringVar(&r.Experiment, "experiment", "E1-3x", "what happens")
	return flags, r
}

// serve is the service of a run, in the process that run starts for it.
func serve(ctx context.Context, args []string, out io.Writer) error {
	flags, r := runFlags("serve")
	socket := flags.String("socket", "", "where to listen")
	if err := parse(flags, args); err != nil {
		return err
	}
	return r.Serve(ctx, *socket, out)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags, r := runFlags("run")
	flags.Uint64Var(&r.Seed, "seed", 1, "selects the arrivals")
	if err := parse(flags, args); err != nil {
		return err
	}
	if r.Setting == "" {
		for _, c := range overload.Contestants() {
			if c.Name == r.Contestant {
				r.Setting = c.Settings[0].Name
			}
		}
	}
	result, err := r.Do(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	return json.NewEncoder(out).Encode(result)
}

func list(args []string, out io.Writer) error {
	if err := parse(options("list"), args); err != nil {
		return err
	}
	for _, e := range overload.Experiments() {
		fmt.Fprintf(out, "%-12s %s\n", e.Name, e.Title)
	}
	for _, c := range overload.Contestants() {
		for i, s := range c.Settings {
			first := ""
			if i == 0 {
				first = " (measured in any case)"
			}
			fmt.Fprintf(out, "%-24s %s%s\n", c.Name, s.Name, first)
		}
	}
	return nil
}
