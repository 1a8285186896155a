package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// diagnosis is what doctor found.
type diagnosis struct {
	Store    string               `json:"store"` // the driver, and where it is
	Findings []redisstore.Finding `json:"findings"`
}

func doctorCommand() *cobra.Command {
	path, output, within, strict := "", "table", 30*time.Second, false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the store as a careful operator would, and say what would mend it",
		Long: `Doctor looks at the store that a configuration names, from this machine and as the
configured user: whether it can be reached, used and relied on. Each finding says
what was seen, why it matters, and the command or setting that mends it.

It writes below the prefix of the keys, to keys of its own that end by themselves,
and makes some hundred claims there. The environment counts, as in plimsoll run:
to look as another user, who may see more, set PLIMSOLL_STORE_DSN.

It exits with 0 if there is no fault, with 1 if there is one, or, with --strict, a
warning, and with 2 when it was not called rightly.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			write, ok := diagnosisWriters[output]
			if !ok {
				return usageError{fmt.Errorf("unknown output %q, allowed: table, json, yaml", output)}
			}
			ctx, cancel := context.WithTimeout(c.Context(), within)
			defer cancel()
			d, err := diagnose(ctx, path)
			if err != nil {
				return err
			}
			if err := write(c.OutOrStdout(), d); err != nil {
				return err
			}
			return d.verdict(strict)
		},
	}
	flags := c.Flags()
	flags.StringVar(&path, "config", "", "file whose store is checked (default: the built-in configuration)")
	flags.StringVarP(&output, "output", "o", output, "table, json or yaml")
	flags.DurationVar(&within, "timeout", within, "how long to look")
	flags.BoolVar(&strict, "strict", strict, "let warnings count as faults do")
	return c
}

// diagnose looks at the store of a file.
func diagnose(ctx context.Context, path string) (*diagnosis, error) {
	f, err := loadOrDefault(path, config.Environment(os.LookupEnv))
	if err != nil {
		return nil, err
	}
	built, err := config.Build(f, nil)
	if err != nil {
		return nil, err
	}
	redis := built.Live.Redis()
	if redis == nil {
		return &diagnosis{Store: string(f.Store.Driver), Findings: []redisstore.Finding{
			{Check: "store", Seen: "it is in the memory of each process: there is nothing to look at"},
		}}, nil
	}
	defer built.Live.Close()
	redisstore.Silence()
	return &diagnosis{
		Store: string(f.Store.Driver) + " at " + f.Store.Redis.Place(), Findings: redis.Checkup(ctx, f.Store.Budget, redisstore.Thorough),
	}, nil
}

// loadOrDefault is the file at a path, or the built-in configuration.
func loadOrDefault(path string, overlay config.Overlay) (*config.File, error) {
	if path != "" {
		return config.Load(path, overlay)
	}
	f := config.Default()
	if problems := overlay(f); len(problems) > 0 {
		return nil, problems
	}
	return f, f.Validate()
}

// verdict is the error of what was found, if it counts.
func (d *diagnosis) verdict(strict bool) error {
	least := redisstore.Fault
	if strict {
		least = redisstore.Warning
	}
	for _, f := range d.Findings {
		if f.Severity >= least {
			return errNo
		}
	}
	return nil
}

// diagnosisWriters print what was found.
var diagnosisWriters = map[string]func(io.Writer, *diagnosis) error{
	"table": writeDiagnosis,
	"json":  writeDiagnosisJSON,
	"yaml": func(w io.Writer, d *diagnosis) error {
		body, err := json.Marshal(d)
		if err != nil {
			return err
		}
		return writeYAML(w, body)
	},
}

func writeDiagnosisJSON(w io.Writer, d *diagnosis) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}

// writeDiagnosis prints one line for each finding, with why and what to do
// below those that need it, and a line of counts.
func writeDiagnosis(w io.Writer, d *diagnosis) error {
	var text strings.Builder
	fmt.Fprintf(&text, "store: %s\n\n", d.Store)
	counts := map[redisstore.Severity]int{}
	for _, f := range d.Findings {
		counts[f.Severity]++
		fmt.Fprintf(&text, "%-8s  %-12s %s\n", f.Severity, f.Check, f.Seen)
		if f.Why != "" {
			fmt.Fprintf(&text, "%23swhy:  %s\n", "", f.Why)
		}
		if f.Cure != "" {
			fmt.Fprintf(&text, "%23scure: %s\n", "", f.Cure)
		}
	}
	fmt.Fprintf(&text, "\n%d ok, %d not seen, %d warnings, %d faults\n",
		counts[redisstore.Fine], counts[redisstore.Unseen], counts[redisstore.Warning], counts[redisstore.Fault])
	_, err := io.WriteString(w, text.String())
	return err
}
