package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/config"
)

// maxStatus bounds what is read from whoever answers.
const maxStatus = 8 << 20

func statusCommand() *cobra.Command {
	address, output, wait := "", "table", 5*time.Second
	c := &cobra.Command{
		Use:   "status",
		Short: "Print the live state of a running process",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			write, ok := statusWriters[output]
			if !ok {
				return usageError{fmt.Errorf("unknown output %q, allowed: table, json, yaml", output)}
			}
			ctx, cancel := context.WithTimeout(c.Context(), wait)
			defer cancel()
			body, err := fetchStatus(ctx, address)
			if err != nil {
				return err
			}
			return write(c.OutOrStdout(), body)
		},
	}
	flags := c.Flags()
	flags.StringVar(&address, "admin", "http://"+string(config.Default().Admin.Listen), "admin listener of the process")
	flags.StringVarP(&output, "output", "o", output, "table, json or yaml")
	flags.DurationVar(&wait, "timeout", wait, "how long to wait for the answer")
	return c
}

// statusWriters print an answer of /status.
var statusWriters = map[string]func(io.Writer, []byte) error{
	"table": writeTable, "json": writeJSON, "yaml": writeYAML,
}

// fetchStatus asks an admin listener, given as a URL or as host:port.
func fetchStatus(ctx context.Context, address string) ([]byte, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/status", nil)
	if err != nil {
		return nil, usageError{err}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no process answers: %w; is plimsoll run running, and --admin its admin.listen?", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	if err != nil {
		return nil, fmt.Errorf("reading the status: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, response.Status)
	}
	return body, nil
}

func writeJSON(w io.Writer, body []byte) error {
	_, err := w.Write(body)
	return err
}

// parseStatus reads an answer, of this version or of one that knows more.
func parseStatus(body []byte) (s admin.Status, err error) {
	if err := json.Unmarshal(body, &s); err != nil {
		return s, fmt.Errorf("this is no status: %w", err)
	}
	return s, nil
}
