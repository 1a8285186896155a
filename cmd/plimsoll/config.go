package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/config"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Print the built-in configuration, its schema, its reference",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		printCommand("default", "Print the built-in configuration, commented", config.DefaultYAML),
		printCommand("schema", "Print the JSON Schema of configuration files", config.Schema),
		printCommand("reference", "Print the reference of configuration files, in Markdown", config.Reference),
	)
	return c
}

func printCommand(name, short string, text func() []byte) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(text())
			return err
		},
	}
}
