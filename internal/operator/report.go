package operator

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
)

// Markdown is an incident's report as one document.
func Markdown(r *admin.Report) string {
	var text strings.Builder
	title := "What happened"
	if r.Incident != "" {
		title = "Incident " + cell(r.Incident)
	}
	fmt.Fprintf(&text, "# %s\n\nMade at %s.\n", title, stamp(r.Made))
	if s := r.Status; s != nil {
		fmt.Fprintf(&text, "By worker %s of version %s, %s, up for %s; store %s, %d requests in flight.\n",
			cell(or(s.Fleet.Worker, s.Listen)), cell(s.Version), cell(s.State), span(s.Uptime), cell(s.Store.State), s.InFlight)
	}
	text.WriteString("What stands here of requests is this worker's; overrides and trail are the fleet's.\n")
	overridesPart(&text, r.Overrides)
	trailPart(&text, r.Trail)
	eventsPart(&text, r.Timeline)
	workPart(&text, &r.Work)
	heaviestPart(&text, "Callers", &r.Top.Callers)
	heaviestPart(&text, "Routes", &r.Top.Routes)
	holdersPart(&text, r.Holders)
	return text.String()
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// cell is a text that stays within a cell of a table.
func cell(value any) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'").Replace(Clean(fmt.Sprint(value)))
}

// part writes a section with a table, or says that there is nothing.
func part(text *strings.Builder, title string, heads []string, lines [][]any) {
	fmt.Fprintf(text, "\n## %s\n\n", title)
	if len(lines) == 0 {
		text.WriteString("None.\n")
		return
	}
	fmt.Fprintf(text, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat(" --- |", len(heads)))
	for _, line := range lines {
		for _, value := range line {
			text.WriteString("| " + cell(value) + " ")
		}
		text.WriteString("|\n")
	}
}

func overridesPart(text *strings.Builder, list []control.Override) {
	lines := make([][]any, len(list))
	for i := range list {
		o := &list[i]
		lines[i] = []any{o.ID, Describe(o), stamp(o.Created), stamp(o.ExpiresAt), o.Author, o.Reason}
	}
	part(text, "Overrides", []string{"Id", "What", "From", "To", "By", "Why"}, lines)
}

func trailPart(text *strings.Builder, list []control.Record) {
	lines := make([][]any, len(list))
	for i := range list {
		r := &list[i]
		lines[i] = []any{r.Seq, stamp(r.Time), r.Actor.Name, did(r), about(r), r.Reason}
	}
	part(text, "Trail", []string{"Record", "At", "Who", "Did", "What", "Why"}, lines)
}

func eventsPart(text *strings.Builder, list []insight.Event) {
	lines := make([][]any, len(list))
	for i, e := range list {
		what := e.What
		if e.From != "" || e.To != "" {
			what += " (" + e.From + " → " + e.To + ")"
		}
		lines[i] = []any{stamp(time.Unix(0, e.At)), e.Kind, what, e.Who}
	}
	part(text, "Timeline of the last hour", []string{"At", "Kind", "What", "Who"}, lines)
}

func workPart(text *strings.Builder, w *insight.Work) {
	var lines [][]any
	for _, t := range []struct {
		name string
		insight.Tally
	}{
		{"in time", w.Good}, {"after the deadline: wasted", w.Late}, {"after the client left: wasted", w.Left},
		{"as overload signals", w.Dropped}, {"streams, panics", w.Other},
	} {
		lines = append(lines, []any{t.name, t.Requests, fmt.Sprintf("%.1f", t.Seconds)})
	}
	part(text, "Work since the start", []string{"Ended", "Requests", "Slot-seconds"}, lines)
}

func heaviestPart(text *strings.Builder, what string, r *admin.Ranking) {
	for _, l := range []struct {
		title string
		list  []insight.Heavy
	}{{what + " refused most", r.ByRefusals}, {what + " that held most", r.BySeconds}} {
		lines := make([][]any, len(l.list))
		for i, h := range l.list {
			lines[i] = []any{h.Name, h.Refused, fmt.Sprintf("%.1f", h.Seconds)}
		}
		part(text, l.title, []string{"Name", "Refused", "Slot-seconds"}, lines)
	}
}

func holdersPart(text *strings.Builder, list []admin.Held) {
	lines := make([][]any, len(list))
	for i, h := range list {
		lines[i] = []any{h.ID, h.Caller, h.Route, h.Class, fmt.Sprintf("%.1f s", h.Seconds), h.Left, h.Overdue}
	}
	part(text, "Oldest in flight", []string{"Id", "Caller", "Route", "Class", "For", "Client left", "Overdue"}, lines)
}
