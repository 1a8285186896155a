package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/config"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say everything that is wrong with a configuration",
		Long: `Check reads a configuration as plimsoll run would, and prints every fault of it
at once, with its line, its path and what is allowed. The environment is left out:
what is wrong there is not the file's fault.`,
		Args: oneArg("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := config.Load(args[0])
			if err != nil {
				fmt.Fprintln(c.ErrOrStderr(), err)
				return errNo
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is right: %d stages\n", args[0], len(f.Stages))
			return nil
		},
	}
}
