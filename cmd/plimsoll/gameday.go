package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/internal/operator"
	"github.com/plimsoll-go/plimsoll/priority"
)

// The bounds of a game day: it can do no more than this, whatever is asked.
const (
	longestGame  = 15 * time.Minute
	highestLevel = 1.0 // all of low, and nothing else
	mostPercent  = 50
)

func gameDayCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "game-day", Short: "Rehearse an overload: bounded, audited, and ending by itself", Args: noArgs,
		Long: `Game-day does to a part of the low traffic what an overload would, so that people see
the alarms, the dashboards and their own runbook at work. By default it sheds a percent
of the callers below normal, as plimsoll shed does; with --level it pins the workers'
level instead, as a worker that is overloaded would set it, no higher than 1.

It is an override as any other: in the trail, in plimsoll overrides, and ended by the
process itself when its time is over, also when this command dies. While it runs the
command looks each second, and ends it at once when classes that it does not mean are
refused more than before, when the process drains or is gone, and on an interrupt.
No more than 50 percent of callers, 15 minutes, and level 1.`,
		Example: "  plimsoll game-day --below normal --percent 20 --for 5m --reason 'rehearsal of June'\n" +
			"  plimsoll game-day --level 0.5 --for 5m --reason 'rehearsal of June'",
	}
	g := &gameDay{creation: newCreation(c, operator.Ask{What: control.Shed}, 5*time.Minute)}
	f := c.Flags()
	f.StringVar(&g.ask.Scope.Below, "below", "normal", "the class below which callers are shed: normal or high")
	f.IntVar(&g.ask.Percent, "percent", 20, "of callers, 1 … 50")
	f.Float64Var(&g.level, "level", 0, "pin the workers' level instead, above 0 … 1")
	f.Float64Var(&g.spared, "spared", 5, "more refusals than this within a second, of a class that is not meant, end it")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, name := range []string{"percent", "below", "dry-run"} {
			if f.Changed("level") && f.Changed(name) {
				return usageError{fmt.Errorf("--level is instead of a shed, and goes without --%s", name)}
			}
		}
		return g.run(c)
	}
	return c
}

type gameDay struct {
	*creation
	level, spared float64
}

// check bounds what was asked for.
func (g *gameDay) check() error {
	a := &g.ask
	switch {
	case g.lasts < control.MinTTL || g.lasts > longestGame:
		return usageError{fmt.Errorf("--for must be %v … %v for a game day, got %v", control.MinTTL, longestGame, g.lasts)}
	case g.level < 0 || g.level > highestLevel:
		return usageError{fmt.Errorf("--level must be above 0 … %g for a game day, got %g", highestLevel, g.level)}
	case a.Scope.Below != "normal" && a.Scope.Below != "high":
		return usageError{fmt.Errorf("--below must be normal or high for a game day, got %q", a.Scope.Below)}
	case a.Percent < 1 || a.Percent > mostPercent:
		return usageError{fmt.Errorf("--percent must be 1 … %d for a game day, got %d", mostPercent, a.Percent)}
	}
	if g.incident == "" {
		g.incident = "game-day " + time.Now().UTC().Format(time.DateOnly)
	}
	if g.level > 0 {
		g.ask = operator.Ask{What: control.Pin, Set: control.Level, Value: g.level}
	}
	return nil
}

// meant is the most critical class that it may refuse.
func (g *gameDay) meant() priority.Class {
	if g.ask.Scope.Below == "high" {
		return priority.Normal
	}
	return priority.Low
}

func (g *gameDay) run(c *cobra.Command) error {
	if err := g.check(); err != nil {
		return err
	}
	made, err := g.make(c)
	if err != nil || made == nil {
		return err
	}
	client, err := g.client()
	if err != nil {
		return err
	}
	why := g.watch(c, client, made)
	if why == "" {
		fmt.Fprintln(c.OutOrStdout(), "the game day is over: it ended by itself")
		return nil
	}
	fmt.Fprintln(c.OutOrStdout(), "ending it: "+why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 2*g.timeout)
	defer cancel()
	c.SetContext(ctx)
	g.yes = true
	if err := g.alter(c, client, []operator.About{{Action: control.Revoke, ID: made.ID, LocalOnly: made.LocalOnly}}); err != nil {
		return errors.Join(fmt.Errorf("it could not be ended, and ends by itself at %s", made.ExpiresAt.Format(time.TimeOnly)), err)
	}
	return nil
}

// watch looks each second until the override has ended, and says why it should
// end before; "" when it ended by itself.
func (g *gameDay) watch(c *cobra.Command, client *operator.Client, made *control.Override) (why string) {
	var first, last *admin.Status
	seconds := 0
	err := client.Events(c.Context(), func(e *operator.Event) bool {
		if e.Live == nil {
			return true
		}
		first, last = last, e.Live
		if seconds++; seconds%5 == 0 {
			fmt.Fprintf(c.OutOrStdout(), "%s left; refused in all: %s\n", time.Until(made.ExpiresAt).Round(time.Second), refusedOf(last))
		}
		why = g.judge(first, last)
		return why == "" && time.Now().Before(made.ExpiresAt)
	})
	switch {
	case c.Context().Err() != nil:
		return "interrupted"
	case err != nil && time.Now().Before(made.ExpiresAt):
		return err.Error()
	}
	return why
}

// judge says what two states, a second apart, give reason to end it for.
func (g *gameDay) judge(before, now *admin.Status) string {
	if now.State != admin.Serving {
		return "the process is " + now.State
	}
	if before == nil {
		return ""
	}
	for i, c := range now.Counts.Classes {
		if i < len(before.Counts.Classes) && c.Class > g.meant() {
			if n := float64(c.Rejected) - float64(before.Counts.Classes[i].Rejected); n > g.spared {
				return fmt.Sprintf("%.0f requests of class %s were refused within a second", n, c.Class)
			}
		}
	}
	return ""
}

func refusedOf(s *admin.Status) (text string) {
	for _, c := range s.Counts.Classes {
		text += fmt.Sprintf("%s %d  ", c.Class, c.Rejected)
	}
	return text
}
