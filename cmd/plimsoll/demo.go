package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll-go/plimsoll/internal/demo"
)

func demoCommand() *cobra.Command {
	d, compare := demo.Config{}, true
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch the four stages keep a service alive at three times its capacity",
		Long: `Demo starts a sample payments service of known capacity, Plimsoll in front of it,
and a load that rises to a multiple of the capacity and falls again; then the same
load on the service alone. All of it runs in this process, over loopback.

It exits with 0 only if everything that it claims was seen.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d.Alone, d.Out = !compare, c.OutOrStdout()
			d.Size, d.Colour = terminal(os.Stdout), colour()
			v, err := demo.Run(c.Context(), d)
			switch {
			case errors.Is(err, demo.ErrUsage):
				return usageError{err}
			case err != nil:
				return err
			case !v.Held():
				return errNo
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.DurationVar(&d.Duration, "duration", demo.DefaultDuration, "length of the load on the protected service, 8s or more")
	flags.Float64Var(&d.Multiple, "multiple", demo.DefaultMultiple, "load at the height, as a multiple of the capacity, 1.5 to 10")
	flags.Uint64Var(&d.Seed, "seed", 1, "selects the arrivals; the same seed offers the same")
	flags.BoolVar(&d.Plain, "plain", false, "write a log, a line a second, instead of a table")
	flags.BoolVar(&compare, "compare", compare, "show the unprotected service under the same load, too")
	return c
}

// terminal tells the size of the terminal behind a file, if there is one.
func terminal(f *os.File) func() (width, height int, ok bool) {
	return func() (int, int, bool) {
		width, height, err := term.GetSize(int(f.Fd()))
		return width, height, err == nil
	}
}

// colour follows no-color.org, and terminals that say that they know none.
func colour() demo.Colour {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return demo.Monochrome
	}
	return demo.ANSI
}
