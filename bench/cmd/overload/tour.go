package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/bench/overload"
)

// tour runs experiments and writes what they show, after each round.
func tour(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("tour", flag.ExitOnError)
	experiments := flags.String("experiments", "all", "names, separated by commas; see list")
	contestants := flags.String("contestants", "all", "names, separated by commas; see list")
	dir := flags.String("out", ".", "folder to write results.json, tables and charts to")
	add := flags.Bool("add", false, "add to the results.json that is there")
	anew := flags.Bool("anew", false, "with -add: forget what these contestants have shown in these experiments")
	t := overload.Tour{Log: os.Stderr, Keep: func(r *overload.Report) error { return write(r, *dir) }}
	flags.IntVar(&t.Repeats, "repeats", 5, "how often everything is run; 0 with -add: only the repeats that others have and some lack")
	flags.IntVar(&t.AtOnce, "at-once", 1, "how many runs that wait, and do not compute, share the machine")
	_ = flags.Parse(args) // exits
	if t.Repeats < 0 || !*add && (*anew || t.Repeats == 0) {
		return errors.New("-repeats 0 and -anew need -add, and -repeats is 0 or more")
	}
	var err error
	if t.Experiments, err = named("experiment", *experiments, names(overload.Experiments(), func(e overload.Experiment) string { return e.Name })); err != nil {
		return err
	}
	if t.Contestants, err = named("contestant", *contestants, names(overload.Contestants(), func(c overload.Contestant) string { return c.Name })); err != nil {
		return err
	}
	if *add {
		if t.Earlier, err = read(*dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if *anew && t.Earlier != nil {
		t.Earlier.Forget(t.Experiments, t.Contestants)
	}
	_, err = t.Run(ctx)
	return err
}

func names[T any](list []T, name func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, name(v))
	}
	return all
}

// named are the names of a list, or all.
func named(what, list string, all []string) ([]string, error) {
	if list == "" || list == "all" {
		return all, nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("no %s is named %q, allowed: all, %s", what, name, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}

// draw writes the tables and charts of a folder's results.json anew.
func draw(args []string) error {
	flags := flag.NewFlagSet("draw", flag.ExitOnError)
	dir := flags.String("out", ".", "folder with results.json")
	_ = flags.Parse(args) // exits
	report, err := read(*dir)
	if err != nil {
		return err
	}
	return write(report, *dir)
}

const results = "results.json"

func read(dir string) (*overload.Report, error) {
	data, err := os.ReadFile(filepath.Join(dir, results))
	if err != nil {
		return nil, err
	}
	report := new(overload.Report)
	if err := json.Unmarshal(data, report); err != nil {
		return nil, fmt.Errorf("%s: %w", results, err)
	}
	return report, nil
}

func write(r *overload.Report, dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	files := map[string]string{results: string(data) + "\n", "results.md": r.Markdown()}
	for name, chart := range r.Charts() {
		files[name] = chart.SVG()
	}
	return writeAll(dir, files)
}
