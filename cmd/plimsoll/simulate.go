package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/sim"
)

func simulateCommand() *cobra.Command {
	seed, output := uint64(1), "table"
	c := &cobra.Command{
		Use:   "simulate NAME|FILE",
		Short: "Play an incident on a fleet in virtual time",
		Long: `Simulate plays a scenario, one that comes along or a file, in virtual time: the
real stages in as many workers as it says, on simulated machines, behind a simulated
network, with clients and faults. It prints what happened in each second, whether the
scenario's expectations were met, and which invariants were broken, if any.

The same seed gives the same run, event by event. Exit code 1 says that something did
not hold.

Scenarios that come along: ` + wrapped(sim.Names(), 85) + `.
And random is one made up from the seed. How to write one is told in docs/simulation.md.`,
		Args: oneArg("NAME or FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			write, ok := reportWriters[output]
			if !ok {
				return usageError{fmt.Errorf("unknown output %q, allowed: table, json", output)}
			}
			signal.Reset(os.Interrupt, syscall.SIGTERM) // a long one keeps nothing, and need not end in order
			s, err := scenario(args[0], seed)
			if err != nil {
				return err
			}
			r, err := sim.Play(s, seed)
			if err != nil {
				return err
			}
			if err := write(c.OutOrStdout(), s, r); err != nil {
				return err
			}
			if !r.Held() {
				return errNo
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.Uint64Var(&seed, "seed", seed, "selects all that is left to chance")
	flags.StringVarP(&output, "output", "o", output, "table or json")
	return c
}

// scenario finds a scenario by name, makes one up, or reads a file.
func scenario(name string, seed uint64) (*sim.Scenario, error) {
	if name == "random" {
		return sim.Random(seed), nil
	}
	if !strings.ContainsAny(name, `./\`) {
		s, err := sim.Named(name)
		if err != nil {
			return nil, usageError{err}
		}
		return s, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return sim.Parse(filepath.Base(name), string(text))
}

// reportWriters print a report.
var reportWriters = map[string]func(io.Writer, *sim.Scenario, *sim.Report) error{
	"table": func(to io.Writer, s *sim.Scenario, r *sim.Report) error {
		if s.Story != "" {
			fmt.Fprintf(to, "%s\n\n", s.Story)
		}
		_, err := io.WriteString(to, r.Table())
		return err
	},
	"json": func(to io.Writer, _ *sim.Scenario, r *sim.Report) error {
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return e.Encode(r)
	},
}

// wrapped is a list of words in lines of some width.
func wrapped(list []string, width int) string {
	var b strings.Builder
	column := len("Scenarios that come along: ")
	for i, word := range list {
		if i > 0 {
			b.WriteString(",")
			if column += len(word) + 2; column > width {
				b.WriteString("\n")
				column = len(word)
			} else {
				b.WriteString(" ")
			}
		}
		b.WriteString(word)
	}
	return b.String()
}
