package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// options are those of one command.
func options(command string) *flag.FlagSet {
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(io.Discard) // parse says what there is to say
	return f
}

// parse reads the options of a command, which takes nothing else. For -h it lists
// them and returns flag.ErrHelp.
func parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Printf("options of overload %s:\n", f.Name())
		f.SetOutput(os.Stdout)
		f.PrintDefaults()
		return err
	case err != nil:
		return fmt.Errorf("%s: %w; overload %s -h lists the options", f.Name(), err, f.Name())
	case f.NArg() > 0:
		return fmt.Errorf("%s: takes options only, got %q; a name of several words stands in quotes", f.Name(), f.Arg(0))
	}
	return nil
}

// named are the names of a list, each once, or all.
func named(what, list string, all []string) (chosen []string, err error) {
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "" || slices.Contains(chosen, name):
		case name == "all":
			return all, nil
		case !slices.Contains(all, name):
			return nil, fmt.Errorf("no %s is named %q, allowed: all, %s", what, name, strings.Join(all, ", "))
		default:
			chosen = append(chosen, name)
		}
	}
	if len(chosen) == 0 {
		return all, nil
	}
	return chosen, nil
}

// names are those of the things in a list.
func names[T any](list []T, name func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, name(v))
	}
	return all
}

// writable makes a folder, and tries whether something can be written there: it
// is better known before the work than after it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("-out %s: the folder cannot be made: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return fmt.Errorf("-out %s: nothing can be written there: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeAll writes files, each as a whole or not at all.
func writeAll(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}
