package observability

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Severity is how soon somebody should look. The zero value is a warning.
type Severity uint8

// The severities.
const (
	Warning  Severity = iota // in working hours
	Critical                 // now: somebody is woken
	Info                     // somebody did it on purpose; nobody should forget it
)

// String is warning, critical or info, as the label has it.
func (s Severity) String() string { return [...]string{"warning", "critical", "info"}[s] }

// Alert is a rule that calls somebody.
type Alert struct {
	Name        string
	Severity    Severity
	Expr        string        // in PromQL
	For         time.Duration // how long it must hold before it fires
	Summary     string        // one sentence, the same for all
	Description string        // one or two, with Prometheus' templates for labels and value
	Dashboard   string        // the uid of the one to open

	Means string // what is so when it fires, and for whom
	Look  string // at what
	Do    string // what
}

// Runbook is where the document says what to do.
func (a *Alert) Runbook() string { return repository + "docs/alerts.md#" + strings.ToLower(a.Name) }

const repository = "https://github.com/plimsoll-go/plimsoll/blob/main/"

// Record is a rule that keeps the result of an expression as a series.
type Record struct {
	Name string
	Expr string
}

// Group is rules that are evaluated together, records first.
type Group struct {
	Name    string
	Records []Record
	Alerts  []Alert
}

// Groups is every rule.
func Groups() []Group {
	return []Group{
		{Name: "plimsoll-slo", Records: burnRecords(), Alerts: burnAlerts()},
		{Name: "plimsoll-process", Alerts: slices.Clone(processAlerts)},
		{Name: "plimsoll-store", Alerts: slices.Clone(storeAlerts)},
		{Name: "plimsoll-shedding", Alerts: slices.Clone(sheddingAlerts)},
		{Name: "plimsoll-control", Alerts: slices.Clone(controlAlerts)},
	}
}

// Alerts is every alert, in the order of the groups.
func Alerts() (list []Alert) {
	for _, g := range Groups() {
		list = append(list, g.Alerts...)
	}
	return list
}

// RuleFile is the groups as Prometheus reads them.
func RuleFile() []byte {
	var b strings.Builder
	b.WriteString("# Generated from package observability by go generate. Change that.\ngroups:\n")
	for _, g := range Groups() {
		fmt.Fprintf(&b, "  - name: %s\n    rules:\n", g.Name)
		for _, r := range g.Records {
			fmt.Fprintf(&b, "      - record: %s\n        expr: |-\n%s\n", r.Name, indented(r.Expr))
		}
		for i := range g.Alerts {
			g.Alerts[i].write(&b)
		}
	}
	return []byte(b.String())
}

func (a *Alert) write(b *strings.Builder) {
	fmt.Fprintf(b, "      - alert: %s\n        expr: |-\n%s\n", a.Name, indented(a.Expr))
	if a.For > 0 {
		fmt.Fprintf(b, "        for: %s\n", short(a.For))
	}
	fmt.Fprintf(b, "        labels:\n          severity: %s\n        annotations:\n", a.Severity)
	for _, pair := range a.Annotations() {
		fmt.Fprintf(b, "          %s: %q\n", pair[0], pair[1])
	}
}

// Annotations is what an alert says beside its labels, name by name.
func (a *Alert) Annotations() [][2]string {
	return [][2]string{
		{"summary", a.Summary}, {"description", a.Description}, {"runbook_url", a.Runbook()}, {"dashboard", "/d/" + a.Dashboard},
	}
}

func indented(expr string) string {
	return "          " + strings.ReplaceAll(strings.TrimSpace(expr), "\n", "\n          ")
}

// short is a duration as Prometheus writes it: of one unit where that goes.
func short(d time.Duration) string {
	for _, u := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.length && d%u.length == 0 {
			return fmt.Sprint(int64(d/u.length), u.name)
		}
	}
	return d.String()
}
