package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll-go/plimsoll/bench/overload/fleet"
)

// fleetTour runs experiment E6, or its second part, prints its table, and writes
// it to a folder when one is named.
func fleetTour(ctx context.Context, args []string, out io.Writer) error {
	flags := options("fleet")
	dir := flags.String("out", "", "folder to write fleet.json, fleet.md and fleet.svg to (default: none)")
	half := flags.Bool("mixed", false, "a fleet of which half is half as fast; writes fleet-mixed.*")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *dir != "" {
		if err := writable(*dir); err != nil {
			return err
		}
	}
	run, name := fleet.Run, "fleet"
	if *half {
		run, name = fleet.RunMixed, "fleet-mixed"
	}
	report, err := run(ctx)
	if report == nil {
		return err
	}
	fmt.Fprint(out, report.Markdown())
	if *dir == "" {
		return err
	}
	data, failed := json.Marshal(report)
	if failed != nil {
		return errors.Join(err, failed)
	}
	chart := report.Chart()
	files := map[string]string{name + ".json": string(data) + "\n", name + ".md": report.Markdown() + "\n![each second](" + name + ".svg)\n", name + ".svg": chart.SVG()}
	return errors.Join(err, writeAll(*dir, files))
}

// worker is one worker of the fleet, in a process that fleet starts for it.
func worker(ctx context.Context, args []string, out io.Writer) error {
	flags := options("worker")
	redis := flags.String("redis", "", "address of the Redis that the fleet shares")
	service := flags.Duration("service", fleet.Service, "how long a handler takes")
	if err := parse(flags, args); err != nil {
		return err
	}
	return fleet.Work(ctx, *redis, *service, out)
}
