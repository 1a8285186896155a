package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/internal/operator"
)

// writeTable prints what a person asks first.
func writeTable(w io.Writer, body []byte) error {
	s, err := parseStatus(body)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "plimsoll %s, %s for %v: %s → %s\n", s.Version, s.State, s.Uptime.Round(time.Second), s.Listen, s.Upstream)
	configurationLines(&text, &s.Config)
	storeLines(&text, &s)
	if s.Store.Spilled > 0 {
		fmt.Fprintf(&text, "  no room for every caller (%d of %d keys in use): %d claims were decided together; see store.max_keys\n",
			s.Store.Keys, s.Store.MaxKeys, s.Store.Spilled)
	}
	text.WriteString("\n")
	stagesTable(&text, &s)
	text.WriteString("\n")
	worker := operator.WorkerOf(&s)
	classesTable(&text, &s, worker)
	if worker != nil {
		fmt.Fprintf(&text, "\nworker: room for %d of %d, %.0f%% in use, %.0f%% if nothing were refused; shedding level %.2f of 3%s\n",
			worker.Limit, worker.MaxInFlight, 100*worker.Utilization, 100*worker.Demand, worker.Level, worker.Pace())
	}
	_, err = io.WriteString(w, text.String())
	return err
}

// storeLines says how the store does, and what was decided without it.
func storeLines(text io.Writer, s *admin.Status) {
	st := &s.Store
	fmt.Fprintf(text, "store %s", st.Driver)
	if st.Place != "" {
		fmt.Fprintf(text, " at %s", st.Place)
	}
	fmt.Fprintf(text, " is %s", st.State)
	if !st.Since.IsZero() {
		fmt.Fprintf(text, " since %s", st.Since.Format(time.RFC3339))
	}
	fmt.Fprintf(text, "; requests in flight: %d\n", s.InFlight)
	if st.Cause != "" {
		fmt.Fprintf(text, "  %s\n", st.Cause)
	}
	if c := st.Calls; c != nil {
		fmt.Fprintf(text, "  decided without it: %d (%d failed, %d late, %d while it was down, %d crowded)\n", c.Fallback, c.Failed, c.Late, c.Skipped, c.Crowded)
		f := &s.Fleet
		fmt.Fprintf(text, "fleet: %d workers live, %d silent, %d shutting down", f.Live, f.Stale, f.Drained)
		if f.Missed > 0 || f.Age == 0 {
			fmt.Fprintf(text, ", as of %v ago; %d heartbeats were not answered since", f.Age.Round(time.Second), f.Missed)
		}
		fmt.Fprintln(text)
	}
}

func configurationLines(text io.Writer, c *admin.Configuration) {
	fmt.Fprintf(text, "configuration %s, generation %d since %s\n", c.Source, c.Generation, c.Loaded.Format(time.RFC3339))
	if c.Error != "" {
		fmt.Fprintf(text, "  refused since %s, the last good one goes on:\n", c.Refused.Format(time.RFC3339))
		for line := range strings.Lines(c.Error) {
			fmt.Fprintf(text, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	if len(c.AfterRestart) > 0 {
		fmt.Fprintf(text, "  counts only after the next start: %s\n", strings.Join(c.AfterRestart, ", "))
	}
}

func columns(text io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(text, 0, 0, 3, ' ', 0) }

func stagesTable(text io.Writer, s *admin.Status) {
	t := columns(text)
	defer t.Flush()
	fmt.Fprintln(t, "STAGE\tMODE\tON FAULT\tREFUSED\tWOULD REFUSE\tFAULTS")
	for _, stage := range s.Stages {
		counts := entryCounts(s, stage.Name)
		faults := uint64(0)
		for _, f := range counts.Faults {
			faults += f.Count
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\n", stage.Name, stage.Mode, stage.OnFault, admin.Sum(counts.Rejected), admin.Sum(counts.Shadowed), faults)
	}
}

func entryCounts(s *admin.Status, name string) admin.EntryCounts {
	for _, e := range s.Counts.Entries {
		if e.Entry == name {
			return e
		}
	}
	return admin.EntryCounts{}
}

func classesTable(text io.Writer, s *admin.Status, worker *operator.Worker) {
	t := columns(text)
	defer t.Flush()
	fmt.Fprintln(t, "CLASS\tADMITTED\tREFUSED\tLEFT WAITING\tIN FLIGHT\tQUEUED")
	for _, c := range s.Counts.Classes {
		inFlight, queued := "-", "-"
		if worker != nil {
			inFlight, queued = fmt.Sprint(worker.InFlight[c.Class.Index()]), fmt.Sprint(worker.Queued[c.Class.Index()])
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\n", c.Class, c.Admitted, c.Rejected, c.Abandoned, inFlight, queued)
	}
}
