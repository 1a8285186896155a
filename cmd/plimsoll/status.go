package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/internal/operator"
)

func statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Print the live state of a running process",
		Long:  "Status needs no token on loopback; the overrides in force are told to whoever has one.",
		Args:  noArgs,
	}
	return asking(c, func(c *cobra.Command, _ []string, client *operator.Client) ([]byte, string, error) {
		body, err := client.Get(c.Context(), "/status", nil)
		if err != nil {
			return nil, "", err
		}
		var table bytes.Buffer
		if err := writeTable(&table, body); err != nil {
			return body, "", err
		}
		o, told, err := client.Overrides(c.Context())
		switch f, ok := errors.AsType[*operator.Failure](err); {
		case err == nil:
			return with(body, "overrides", told), table.String() + "\n" + operator.Table(&o, time.Now()), nil
		case ok && f.Kind == operator.NotAllowed:
			return body, table.String() + "\nwhich overrides are in force is told to whoever has a token\n", nil
		}
		return nil, "", err
	})
}

// with adds a key to the end of a JSON object.
func with(object []byte, key string, value []byte) []byte {
	end := bytes.LastIndexByte(object, '}')
	if end < 0 {
		return object
	}
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(value), "  ", "  ") != nil {
		return object
	}
	return fmt.Appendf(bytes.TrimRight(object[:end:end], " \n"), ",\n  %q: %s\n}\n", key, indented.Bytes())
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
