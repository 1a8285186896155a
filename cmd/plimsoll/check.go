package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/internal/process"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say everything that is wrong with a configuration",
		Long: `Check reads a configuration as plimsoll run would, and prints every fault of it
at once, with its line, its path and what is allowed. Of a right one it says what
is allowed and probably not meant, as run does at its start. FILE is - for the
standard input. The environment is left out: what is wrong there is not the
file's fault.`,
		Args: oneArg("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := readConfig(args[0], c.InOrStdin())
			if err != nil {
				fmt.Fprintln(c.ErrOrStderr(), err)
				return errNo
			}
			for _, warning := range process.Warnings(f) {
				fmt.Fprintln(c.ErrOrStderr(), "warning: "+warning)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is right: %d stages\n", args[0], len(f.Stages))
			return nil
		},
	}
}

// readConfig reads a file by its path, or the standard input for -.
func readConfig(path string, stdin io.Reader) (*config.File, error) {
	if path != "-" {
		return config.Load(path)
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxInput))
	if err != nil {
		return nil, fmt.Errorf("reading the standard input: %w", err)
	}
	return config.Parse("-", data)
}

// maxInput bounds what is read of the standard input, to more than a
// configuration may have.
const maxInput = 16 << 20
