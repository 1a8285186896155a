package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/internal/operator"
	"github.com/plimsoll-go/plimsoll/internal/process"
)

// desk is what the commands of operators share: which process they ask, as
// whom, and how they print what it says.
type desk struct {
	admin, tokenFile, ca, cert, key string
	output                          string
	timeout                         time.Duration
}

// newDesk adds the desk's flags to a command.
func newDesk(c *cobra.Command) *desk {
	d := &desk{}
	f := c.Flags()
	f.StringVar(&d.admin, "admin", cmp.Or(os.Getenv("PLIMSOLL_ADMIN"), "http://"+string(config.Default().Admin.Listen)),
		"admin listener of the process: http(s)://host:port, or unix:///path of its socket; also PLIMSOLL_ADMIN")
	f.StringVar(&d.tokenFile, "token-file", "", "file with a token; default PLIMSOLL_TOKEN, or what the first start on this machine left")
	f.StringVar(&d.ca, "ca", "", "certificates to check the listener's against; default the system's")
	f.StringVar(&d.cert, "client-cert", "", "client certificate, instead of a token")
	f.StringVar(&d.key, "client-key", "", "its key")
	f.DurationVar(&d.timeout, "timeout", 5*time.Second, "how long to wait for an answer")
	f.StringVarP(&d.output, "output", "o", "table", "table, json or yaml")
	_ = c.RegisterFlagCompletionFunc("output", fixed("table", "json", "yaml"))
	return d
}

// fixed completes a flag with words.
func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// client finds the process and the token.
func (d *desk) client() (*operator.Client, error) {
	if _, ok := printers[d.output]; !ok && d.output != "table" {
		return nil, usageError{fmt.Errorf("unknown output %q, allowed: table, json, yaml", d.output)}
	}
	from := operator.Credentials{File: d.tokenFile, Value: os.Getenv("PLIMSOLL_TOKEN")}
	if dir := stateDir(os.Getenv); dir != "" && d.cert == "" {
		from.First = process.TokenFile(dir)
	}
	token, err := from.Token(d.admin)
	if err != nil {
		return nil, err
	}
	return operator.New(operator.Config{Address: d.admin, Token: token, CA: d.ca, Cert: d.cert, Key: d.key, Timeout: d.timeout})
}

// printers print an answer as it came.
var printers = map[string]func(io.Writer, []byte) error{"json": writeJSON, "yaml": writeYAML}

// print prints an answer: as a table, which is drawn already, or as it came.
func (d *desk) print(c *cobra.Command, body []byte, table string) error {
	if write, ok := printers[d.output]; ok {
		return write(c.OutOrStdout(), body)
	}
	_, err := io.WriteString(c.OutOrStdout(), table)
	return err
}

// asking is a command that reads one thing and prints it.
func asking(c *cobra.Command, ask func(*cobra.Command, []string, *operator.Client) (body []byte, table string, err error)) *cobra.Command {
	d := newDesk(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		client, err := d.client()
		if err != nil {
			return err
		}
		body, table, err := ask(c, args, client)
		if err != nil {
			return err
		}
		return d.print(c, body, table)
	}
	return c
}
