package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/internal/operator"
)

// change is what the commands that change something share.
type change struct {
	*desk
	yes, local              bool
	reason, incident, retry string
}

func newChange(c *cobra.Command) *change {
	d := &change{desk: newDesk(c)}
	f := c.Flags()
	f.BoolVarP(&d.yes, "yes", "y", false, "do it without asking")
	f.BoolVar(&d.local, "local", false, "of this worker alone; by the socket always so")
	f.StringVar(&d.reason, "reason", "", "why, for people")
	f.StringVar(&d.retry, "retry", "", "key of a change of which it is not known whether it was made: the same command with it makes it once")
	return d
}

// creation is a command that makes an override.
type creation struct {
	*change
	preview bool
	lasts   time.Duration
	worker  string
	ask     operator.Ask
}

// newCreation adds the flags that every override has. Overrides that can count
// without refusing have a dry run; for the others it is the preview.
func newCreation(c *cobra.Command, ask operator.Ask, lasts time.Duration) *creation {
	d := &creation{change: newChange(c), ask: ask}
	f := c.Flags()
	f.DurationVar(&d.lasts, "for", lasts, "how long it lasts; it ends by itself")
	f.StringVar(&d.incident, "incident", "", "the incident's name")
	f.StringVar(&d.worker, "worker", "", "name of the one worker that it is for")
	f.BoolVar(&d.preview, "preview", false, "show what it would do, and stop")
	if counts(&ask) {
		f.BoolVar(&d.ask.DryRun, "dry-run", false, "count what it would refuse, and refuse nobody")
	} else {
		f.BoolVar(&d.preview, "dry-run", false, "the same as --preview")
	}
	return d
}

func counts(a *operator.Ask) bool { return a.What == control.Shed || a.Set == control.Block }

// run previews, asks, and makes.
func (d *creation) run(c *cobra.Command) error {
	_, err := d.make(c)
	return err
}

// make is run, and tells what was made: nil when it only had to be shown.
func (d *creation) make(c *cobra.Command) (*control.Override, error) {
	client, err := d.client()
	if err != nil {
		return nil, err
	}
	a := &d.ask
	a.Scope.Worker, a.Incident, a.Reason = d.worker, d.incident, d.reason
	a.Seconds, a.LocalOnly = int64(d.lasts.Round(time.Second)/time.Second), d.local || client.Local()
	if d.preview {
		return nil, d.foretell(c, client)
	}
	if err := d.mayAsk(c); err != nil {
		return nil, err
	}
	key, err := d.keyOf(c, client, a.LocalOnly)
	if err != nil {
		return nil, err
	}
	if !d.yes {
		p, _, err := client.Preview(c.Context(), a)
		if err != nil {
			return nil, err
		}
		if err := d.confirm(c, operator.Foretold(&p)); err != nil {
			return nil, err
		}
	}
	result, body, err := client.Create(c.Context(), a, key)
	if err != nil {
		return nil, err
	}
	return &result.Override, d.print(c, body, operator.Done(control.Create, &result, time.Now()))
}

// foretell shows the preview alone. It needs no reason.
func (d *creation) foretell(c *cobra.Command, client *operator.Client) error {
	if d.ask.Reason == "" {
		d.ask.Reason = "preview"
	}
	p, body, err := client.Preview(c.Context(), &d.ask)
	if err != nil {
		return err
	}
	return d.print(c, body, operator.Foretold(&p))
}

// keyOf is the key for a change of what there is now, or that of an earlier
// attempt.
func (d *change) keyOf(c *cobra.Command, client *operator.Client, local bool) (string, error) {
	if d.retry != "" {
		return d.retry, nil
	}
	o, _, err := client.Overrides(c.Context())
	if err != nil {
		return "", err
	}
	if local {
		return operator.Key(o.LocalETag), nil
	}
	return operator.Key(o.ETag), nil
}

// mayAsk refuses when nobody could answer a question.
func (d *change) mayAsk(c *cobra.Command) error {
	if in, is := c.InOrStdin().(*os.File); d.yes || is && term.IsTerminal(int(in.Fd())) {
		return nil
	}
	return usageError{errors.New("there is no terminal to ask on: --yes does it unasked, --preview only shows what it would do")}
}

// confirm shows something and asks whether to go on.
func (d *change) confirm(c *cobra.Command, text string) error {
	fmt.Fprintf(c.ErrOrStderr(), "%s\nDo it? [y/N] ", text)
	line, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the answer: %w", err)
	}
	if word := strings.ToLower(strings.TrimSpace(line)); word == "y" || word == "yes" {
		return nil
	}
	fmt.Fprintln(c.ErrOrStderr(), "Nothing was changed.")
	return errNo
}

// alter changes overrides that there are, one after the other: each is a
// change of its own.
func (d *change) alter(c *cobra.Command, client *operator.Client, list []operator.About) error {
	var made []json.RawMessage
	var text strings.Builder
	for i := range list {
		about := &list[i]
		about.Reason, about.LocalOnly = d.reason, about.LocalOnly || d.local || client.Local()
		key, err := d.keyOf(c, client, about.LocalOnly)
		if err != nil {
			return err
		}
		result, body, err := client.Change(c.Context(), about, key)
		if err != nil {
			return errors.Join(d.print(c, nil, text.String()), err)
		}
		made = append(made, body)
		text.WriteString(operator.Done(about.Action, &result, time.Now()))
	}
	body := []byte("[]\n")
	if len(made) == 1 {
		body = made[0]
	} else if len(made) > 1 {
		body, _ = json.MarshalIndent(made, "", "  ") // it was JSON
		body = append(body, '\n')
	}
	return d.print(c, body, text.String())
}

// chosen are the overrides in force that are named, or, when none is, those of
// some kinds; of this worker alone, if only those can be changed.
func chosen(o *admin.Overrides, ids []string, local bool, kinds ...control.Kind) (list []control.Override, err error) {
	for _, each := range operator.InForce(o, time.Now()) {
		if local && !each.LocalOnly {
			continue
		}
		if slices.Contains(ids, each.ID) || len(ids) == 0 && slices.Contains(kinds, each.What) {
			list = append(list, each)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(list, func(o control.Override) bool { return o.ID == id }) {
			return nil, &operator.Failure{Sentence: fmt.Sprintf("no override %s is in force%s: see plimsoll overrides", operator.Clean(id), here(local))}
		}
	}
	return list, nil
}

// here restricts a sentence to what can be changed.
func here(local bool) string {
	if local {
		return " in this worker alone, and the fleet's cannot be changed so"
	}
	return ""
}
