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

func overridesCommand() *cobra.Command {
	c := &cobra.Command{Use: "overrides", Short: "List what people changed, and how long it lasts", Args: noArgs}
	return asking(c, func(c *cobra.Command, _ []string, client *operator.Client) ([]byte, string, error) {
		o, body, err := client.Overrides(c.Context())
		return body, operator.Table(&o, time.Now()), err
	})
}

// restoreCommand and releaseCommand differ in what they end when nothing is
// named.
func restoreCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "restore [ID…]", Short: "End sheds, and let pinned levels sink",
		Long: `Restore ends the overrides that are named, or all sheds and pins. What was shed comes
back at once. A level that was pinned sinks as a ramp, a class in each ramp_down of its
stage, and stops by itself when the worker's utilization rises again: plimsoll top shows it.`,
	}
	return ending(c, control.Shed, control.Pin)
}

func releaseCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "release [ID…]", Short: "End pins: the level sinks as a ramp",
		Long: `Release ends the pins that are named, or all. Nothing jumps: the level sinks, a class in
each ramp_down of its stage, and stops by itself when utilization rises again.`,
	}
	return ending(c, control.Pin)
}

// ending is a command that revokes overrides.
func ending(c *cobra.Command, kinds ...control.Kind) *cobra.Command {
	d := newChange(c)
	c.RunE = func(c *cobra.Command, ids []string) error {
		client, err := d.client()
		if err != nil {
			return err
		}
		o, _, err := client.Overrides(c.Context())
		if err != nil {
			return err
		}
		if d.retry != "" && len(ids) != 1 {
			return usageError{errors.New("--retry is for one change: name the one override that it was about")}
		}
		list, err := chosen(&o, ids, d.local || client.Local(), kinds...)
		if d.retry != "" {
			list, err = []control.Override{{ID: ids[0], LocalOnly: d.local}}, nil // it may have ended
		}
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return d.print(c, []byte("[]\n"), "nothing to end: no such override is in force\n")
		}
		if err := d.mayAsk(c); err != nil {
			return err
		}
		var text strings.Builder
		var changes []operator.About
		for i := range list {
			fmt.Fprintf(&text, "end %s: %s\n", list[i].ID, operator.Describe(&list[i]))
			changes = append(changes, operator.About{Action: control.Revoke, ID: list[i].ID, LocalOnly: list[i].LocalOnly})
		}
		if !d.yes {
			if err := d.confirm(c, text.String()); err != nil {
				return err
			}
		}
		return d.alter(c, client, changes)
	}
	return c
}

// altering is a command that changes one override, by its id.
func altering(c *cobra.Command, d *change, about func(args []string) (operator.About, error)) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		a, err := about(args)
		if err != nil {
			return err
		}
		client, err := d.client()
		if err != nil {
			return err
		}
		if err := d.mayAsk(c); err != nil {
			return err
		}
		o, _, err := client.Overrides(c.Context())
		if err != nil {
			return err
		}
		what := fmt.Sprintf("undo record %d\n", a.Seq)
		if a.ID != "" {
			list, err := chosen(&o, []string{a.ID}, d.local || client.Local())
			if err != nil {
				return err
			}
			a.LocalOnly = list[0].LocalOnly
			what = fmt.Sprintf("%s %s: %s\n", a.Action, a.ID, operator.Describe(&list[0]))
		}
		if !d.yes {
			if err := d.confirm(c, what); err != nil {
				return err
			}
		}
		return d.alter(c, client, []operator.About{a})
	}
	return c
}

func approveCommand() *cobra.Command {
	c := &cobra.Command{Use: "approve ID", Short: "Let an override take effect that waits for a second person", Args: oneArg("id")}
	return altering(c, newChange(c), func(args []string) (operator.About, error) {
		return operator.About{Action: control.Approve, ID: args[0]}, nil
	})
}

func extendCommand() *cobra.Command {
	c := &cobra.Command{Use: "extend ID --for 30m", Short: "Let an override end later, or earlier: so long from now", Args: oneArg("id")}
	d := newChange(c)
	lasts := c.Flags().Duration("for", usual, "how long from now")
	return altering(c, d, func(args []string) (operator.About, error) {
		return operator.About{Action: control.Extend, ID: args[0], Seconds: int64(lasts.Round(time.Second) / time.Second)}, nil
	})
}

func undoCommand() *cobra.Command {
	c := &cobra.Command{Use: "undo RECORD", Short: "Take back one change, if nothing came after it", Args: oneArg("record")}
	return altering(c, newChange(c), func(args []string) (operator.About, error) {
		seq, err := strconv.ParseUint(args[0], 10, 64)
		if err != nil || seq == 0 {
			return operator.About{}, usageError{errSeq}
		}
		return operator.About{Action: control.Undo, Seq: seq}, nil
	})
}
