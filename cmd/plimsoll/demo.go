package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll-go/plimsoll/internal/demo"
)

func demoCommand() *cobra.Command {
	d, compare, fleet := demo.Config{}, true, false
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch the four stages keep a service alive at three times its capacity",
		Long: `Demo starts a sample payments service of known capacity, Plimsoll in front of it,
and a load that rises to a multiple of the capacity and falls again; then the same
load on the service alone. All of it runs in this process, over loopback.

With --fleet it shows three workers that share limits in a Redis, which it starts
itself, stops, starts again and freezes.

It exits with 0 only if everything that it claims was seen.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d.Alone, d.Out = !compare, c.OutOrStdout()
			d.Size, d.Colour = terminal(os.Stdout), colour()
			v, err := demonstrate(c.Context(), &d, fleet)
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
	flags.BoolVar(&fleet, "fleet", fleet, "show three workers and their Redis; --duration, --multiple, --seed and --compare do not concern it")
	flags.BoolVar(&compare, "compare", compare, "show the unprotected service under the same load, too")
	return c
}

// demonstrate runs one of the two demonstrations.
func demonstrate(ctx context.Context, d *demo.Config, fleet bool) (*demo.Verdict, error) {
	if !fleet {
		return demo.Run(ctx, *d)
	}
	f := demo.FleetConfig{Plain: d.Plain, Colour: d.Colour, Out: d.Out}
	if _, _, ok := d.Size(); !ok || d.Plain {
		f.Plain, f.Colour = true, demo.Monochrome
	}
	return demo.RunFleet(ctx, f)
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
