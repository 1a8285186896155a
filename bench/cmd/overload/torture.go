package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/plimsoll-go/plimsoll/bench/overload/torture"
)

// tortures prints the table of experiment E4, and writes it to torture.md of a
// folder when one is named.
func tortures(args []string, out io.Writer) error {
	signal.Reset(os.Interrupt, syscall.SIGTERM) // it keeps nothing that would have to be ended in order
	flags := options("torture")
	dir := flags.String("out", "", "folder to write torture.md to (default: none)")
	only := flags.String("subjects", "", "names, separated by commas (default: all)")
	if err := parse(flags, args); err != nil {
		return err
	}
	chosen, err := named("subject", *only, names(torture.Subjects(), func(s torture.Subject) string { return s.Name }))
	if err != nil {
		return err
	}
	if *dir != "" {
		if err := writable(*dir); err != nil {
			return err
		}
	}
	subjects := slices.DeleteFunc(torture.Subjects(), func(s torture.Subject) bool { return !slices.Contains(chosen, s.Name) })
	page := torture.Run(subjects).Markdown(subjects)
	fmt.Fprint(out, page)
	if *dir == "" {
		return nil
	}
	return writeAll(*dir, map[string]string{"torture.md": "<!-- Written by overload torture. Do not edit. -->\n\n" + page})
}
