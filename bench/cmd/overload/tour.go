package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll-go/plimsoll/bench/overload"
)

// tour runs experiments and writes what they show, after each round.
func tour(ctx context.Context, args []string) error {
	flags := options("tour")
	experiments := flags.String("experiments", "all", "names, separated by commas; see list")
	contestants := flags.String("contestants", "all", "names, separated by commas; see list")
	dir := flags.String("out", ".", "folder to write results.json, tables and charts to")
	add := flags.Bool("add", false, "add to the results.json that is there")
	anew := flags.Bool("anew", false, "with -add: forget what these contestants have shown in these experiments")
	t := overload.Tour{Log: os.Stderr, Keep: func(r *overload.Report) error { return write(r, *dir) }}
	flags.IntVar(&t.Repeats, "repeats", 5, "how often everything is run; 0 with -add: only the repeats that others have and some lack")
	flags.IntVar(&t.AtOnce, "at-once", 1, "how many runs that wait, and do not compute, share the machine")
	if err := parse(flags, args); err != nil {
		return err
	}
	err := checkTour(&t, *add, *anew)
	if err != nil {
		return err
	}
	if t.Experiments, err = named("experiment", *experiments, names(overload.Experiments(), func(e overload.Experiment) string { return e.Name })); err != nil {
		return err
	}
	if t.Contestants, err = named("contestant", *contestants, names(overload.Contestants(), func(c overload.Contestant) string { return c.Name })); err != nil {
		return err
	}
	if err = writable(*dir); err != nil {
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

// checkTour names what is wrong with the numbers, and with what stands together.
func checkTour(t *overload.Tour, add, anew bool) error {
	switch {
	case t.Repeats < 0:
		return fmt.Errorf("-repeats must be 0 or more, got %d", t.Repeats)
	case t.AtOnce < 1:
		return fmt.Errorf("-at-once must be 1 or more, got %d", t.AtOnce)
	case t.Repeats == 0 && !add:
		return errors.New("-repeats 0 makes up what a tour lacks, and so needs -add")
	case anew && !add:
		return errors.New("-anew forgets a part of what is there, and so needs -add; without both, all is replaced")
	}
	return nil
}

// draw writes the tables and charts of a folder's results.json anew.
func draw(args []string) error {
	flags := options("draw")
	dir := flags.String("out", ".", "folder with results.json")
	if err := parse(flags, args); err != nil {
		return err
	}
	report, err := read(*dir)
	if err != nil {
		return err
	}
	return write(report, *dir)
}

const results = "results.json"

func read(dir string) (*overload.Report, error) {
	path := filepath.Join(dir, results)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	report := new(overload.Report)
	if err := json.Unmarshal(data, report); err != nil {
		return nil, fmt.Errorf("%s cannot be read (%w): mend it, or choose another folder", path, err)
	}
	if report.Machine == "" || slices.Contains(report.Results, nil) || slices.Contains(report.Tried, nil) {
		return nil, fmt.Errorf("%s is not what a tour has written, which names a machine and has no empty results: mend it, or choose another folder", path)
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
