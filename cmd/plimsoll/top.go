package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/internal/operator"
)

func topCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "top", Short: "Watch a process: classes, stages, level, overrides, callers", Args: noArgs,
		Long: "Top draws a picture each second until it is interrupted.",
	}
	once := c.Flags().Bool("once", false, "print one picture, and end")
	plain := c.Flags().Bool("plain", false, "print one picture below the other; so always where the output is no terminal")
	d := newDesk(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		client, err := d.client()
		if err != nil {
			return err
		}
		v := &view{client: client, out: c.OutOrStdout(), once: *once, size: func() (int, int) { return 80, 1 << 20 }}
		if f, ok := v.out.(*os.File); ok && !*once && !*plain && term.IsTerminal(int(f.Fd())) {
			v.size = func() (int, int) { return sizeOf(f) }
			io.WriteString(v.out, enter)
			defer io.WriteString(v.out, leave)
			v.live = true
		}
		return v.watch(c.Context())
	}
	return c
}

// What begins and ends a picture on a screen of its own: the other screen, and
// no cursor. Nothing else of the terminal is changed, so this is all that has
// to be restored, whichever way the command ends.
const (
	enter = "\x1b[?1049h\x1b[?25l"
	leave = "\x1b[?25h\x1b[?1049l"
	home  = "\x1b[H"
	below = "\x1b[J"
	eol   = "\x1b[K"
)

func sizeOf(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80, 24
	}
	return width, height
}

// view follows a process and draws it.
type view struct {
	client     *operator.Client
	out        io.Writer
	size       func() (width, height int)
	live, once bool
	top        operator.Top
	drawn      bool
}

// again is how long a view waits before it asks again.
const again = 2 * time.Second

// watch draws until the context ends. A live view goes on when the process is
// gone for a while; others end with what went wrong.
func (v *view) watch(ctx context.Context) error {
	for {
		err := v.client.Events(ctx, func(e *operator.Event) bool { return v.see(ctx, e) })
		f, failed := errors.AsType[*operator.Failure](err)
		if !failed || !v.live || f.Kind != operator.Unreachable || !v.drawn {
			return err
		}
		v.draw([]string{operator.Clean(f.Sentence), "", "asking again until it is interrupted"})
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

// see takes an event, and reports whether to go on.
func (v *view) see(ctx context.Context, e *operator.Event) bool {
	now := time.Now()
	v.top.See(e, now)
	if e.Live == nil || !v.top.Ready() {
		return true
	}
	var heaviest admin.Top
	if _, err := v.client.Get(ctx, "/v1/top?limit=5", &heaviest); err == nil {
		v.top.Rank(&heaviest)
	}
	width, height := v.size()
	v.draw(v.top.Frame(width, height-1, now))
	return !v.once
}

func (v *view) draw(lines []string) {
	switch {
	case v.live:
		io.WriteString(v.out, home+strings.Join(lines, eol+"\r\n")+eol+below)
	case v.drawn:
		fmt.Fprintf(v.out, "\n%s\n", strings.Join(lines, "\n"))
	default:
		fmt.Fprintln(v.out, strings.Join(lines, "\n"))
	}
	v.drawn = true
}
