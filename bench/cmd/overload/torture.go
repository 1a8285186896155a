package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/bench/overload/torture"
)

// tortures prints the table of experiment E4, and writes it to torture.md of a
// folder when one is named.
func tortures(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("torture", flag.ExitOnError)
	dir := flags.String("out", "", "folder to write torture.md to (default: none)")
	only := flags.String("subjects", "", "names, separated by commas (default: all)")
	_ = flags.Parse(args) // exits
	subjects := slices.DeleteFunc(torture.Subjects(), func(s torture.Subject) bool {
		return *only != "" && !slices.Contains(strings.Split(*only, ","), s.Name)
	})
	page := torture.Run(subjects).Markdown(subjects)
	fmt.Fprint(out, page)
	if *dir == "" {
		return nil
	}
	return writeAll(*dir, map[string]string{"torture.md": "<!-- Written by overload torture. Do not edit. -->\n\n" + page})
}
