package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/internal/operator"
)

// usual is how long an override lasts that nobody says more about.
const usual = 30 * time.Minute

func shedCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "shed --below CLASS --reason WHY",
		Short: "Refuse every class below one, for a while",
		Long: `Shed refuses the traffic of every class below one, or that of some percent of its
callers: the same callers all the time, so that each sees all of the service or none.
Critical traffic is never shed. It ends by itself.`,
		Example: "  plimsoll shed --below high --percent 50 --for 30m --reason 'checkout is slow' --incident INC-1",
		Args:    noArgs,
	}
	d := newCreation(c, operator.Ask{What: control.Shed}, usual)
	c.Flags().StringVar(&d.ask.Scope.Below, "below", "", "the class below which traffic is shed: normal, high or critical")
	c.Flags().IntVar(&d.ask.Percent, "percent", 100, "of callers, 1 … 100")
	c.Flags().StringVar(&d.ask.Scope.Route, "route", "", "only on this route, a pattern as in the configuration")
	_ = c.RegisterFlagCompletionFunc("below", fixed("normal", "high", "critical"))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if d.ask.Percent < 1 {
			return usageError{fmt.Errorf("--percent must be 1 … 100, got %d", d.ask.Percent)}
		}
		return d.run(c)
	}
	return c
}

func stageCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "stage NAME --mode MODE --reason WHY", Short: "Put a stage in shadow, off or in force, for a while",
		Example: "  plimsoll stage ratelimit --mode shadow --for 1h --reason 'a limit is wrong'",
		Args:    oneArg("stage"),
	}
	d := newCreation(c, operator.Ask{What: control.StageMode}, usual)
	mode := c.Flags().String("mode", "", "off, shadow or enforce")
	_ = c.RegisterFlagCompletionFunc("mode", fixed("off", "shadow", "enforce"))
	c.RunE = func(c *cobra.Command, args []string) error {
		d.ask.Scope.Stage, d.ask.Set = args[0], control.Setting(*mode)
		return d.run(c)
	}
	return c
}

func callerCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "caller", Short: "Block, exempt or rescale one caller, for a while", Args: noArgs,
		Long: `A caller is named as the configuration names it, or by id: and its key where the name
is a credential: plimsoll top, why and refusals show both.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, kind := range []struct {
		set   control.Setting
		short string
	}{
		{control.Block, "Refuse all of a caller's requests"},
		{control.Exempt, "Let a caller pass every limit and shed; the load shedders stay"},
		{control.Scale, "Multiply a caller's limits"},
	} {
		c := &cobra.Command{Use: string(kind.set) + " CALLER --reason WHY", Short: kind.short, Args: oneArg("caller")}
		d := newCreation(c, operator.Ask{What: control.Caller, Set: kind.set}, usual)
		if kind.set == control.Scale {
			c.Flags().Float64Var(&d.ask.Value, "by", 0, "factor, 0.001 … 1000")
		}
		c.RunE = func(c *cobra.Command, args []string) error {
			d.ask.Scope.Caller = args[0]
			return d.run(c)
		}
		group.AddCommand(c)
	}
	return group
}

func limitCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "limit", Short: "Change one limit, for a while", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c := &cobra.Command{
		Use: "set STAGE LIMIT --reason WHY", Short: "Set, rescale or switch a limit", Args: twoArgs("a stage and a limit"),
		Example: "  plimsoll limit set ratelimit per-caller --scale 0.5 --reason 'crawlers'",
	}
	d := newCreation(c, operator.Ask{What: control.Limit}, usual)
	mode := c.Flags().String("mode", "", "off, shadow or enforce")
	c.Flags().StringVar(&d.ask.Rate, "rate", "", "another rate, such as 50/s")
	most := c.Flags().Float64("max", 0, "another number of requests in flight")
	factor := c.Flags().Float64("scale", 0, "factor, 0.001 … 1000")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := oneOf(c, "mode", "rate", "max", "scale"); err != nil {
			return err
		}
		d.ask.Scope.Stage, d.ask.Scope.Limit = args[0], args[1]
		switch {
		case c.Flags().Changed("rate"):
			d.ask.Set = control.Rate
		case c.Flags().Changed("max"):
			d.ask.Set, d.ask.Value = control.Max, *most
		case c.Flags().Changed("scale"):
			d.ask.Set, d.ask.Value = control.Scale, *factor
		default:
			d.ask.Set = control.Setting(*mode)
		}
		return d.run(c)
	}
	group.AddCommand(c)
	return group
}

// oneOf wants one of some flags.
func oneOf(c *cobra.Command, names ...string) error {
	n := 0
	for _, name := range names {
		if c.Flags().Changed(name) {
			n++
		}
	}
	if n != 1 {
		return usageError{fmt.Errorf("%s takes one of --%s, got %d of them", c.CommandPath(), strings.Join(names, ", --"), n)}
	}
	return nil
}

func twoArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usageError{fmt.Errorf("%s takes %s, got %d words", c.CommandPath(), what, len(args))}
		}
		return nil
	}
}

func reserveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "reserve --reason WHY", Short: "Move the fleet's reserve for critical traffic, or its capacity, for a while", Args: noArgs,
		Example: "  plimsoll reserve --share 0.3 --reason 'checkout first'",
	}
	d := newCreation(c, operator.Ask{What: control.Reserve}, usual)
	share := c.Flags().Float64("share", 0, "share of the capacity that is kept for critical traffic, 0 … 0.9")
	capacity := c.Flags().Float64("capacity", 0, "the fleet's capacity, in requests in flight")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := oneOf(c, "share", "capacity"); err != nil {
			return err
		}
		d.ask.Set, d.ask.Value = control.Share, *share
		if c.Flags().Changed("capacity") {
			d.ask.Set, d.ask.Value = control.Capacity, *capacity
		}
		return d.run(c)
	}
	return c
}

func pinCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "pin LEVEL --reason WHY", Short: "Hold the shedding level of the workers, for a while", Args: oneArg("level, 0 … 3"),
		Long: `Pin holds the level of the workers' shedders: 0 drops nothing, 1 all of low, 2 normal
too, 3 high too, and fractions the part of the next class. Release lets it sink.`,
		Example: "  plimsoll pin 1.5 --for 20m --reason 'a dependency is down'",
	}
	d := newCreation(c, operator.Ask{What: control.Pin, Set: control.Level}, usual)
	c.Flags().StringVar(&d.ask.Scope.Stage, "stage", "", "name of the stage; default the one of its kind")
	c.RunE = func(c *cobra.Command, args []string) error {
		level, err := strconv.ParseFloat(args[0], 64)
		if err != nil {
			return usageError{fmt.Errorf("the level must be a number 0 … 3, got %q", args[0])}
		}
		d.ask.Value = level
		return d.run(c)
	}
	return c
}

func bypassCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "bypass --reason WHY", Short: "Decide nothing and let everything pass, for a while", Args: noArgs,
		Long: "Bypass is for the night in which Plimsoll itself is the problem: no stage is asked, nothing is refused.",
	}
	d := newCreation(c, operator.Ask{What: control.Bypass}, 10*time.Minute)
	c.RunE = func(c *cobra.Command, _ []string) error { return d.run(c) }
	return c
}

var errSeq = errors.New("undo takes the number of a record: it is printed with each change, and by plimsoll audit")
