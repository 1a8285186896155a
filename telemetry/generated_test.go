package telemetry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

var update = flag.Bool("update", false, "write generated files")

const document = "../docs/metrics.md"

func TestGeneratedDocument(t *testing.T) {
	want := write()
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/metrics.md is not what the definitions say: run go generate ./telemetry")
	}
}

const opening = `# Metrics

<!-- Generated from the definitions in package telemetry by go generate. Change those. -->

What a pipeline tells of itself, to Prometheus and to OpenTelemetry from the same counts. Labels are closed
sets and the names of a plan's entries; callers, paths and methods never become labels. Where a process has
several pipelines, each figure has a label ` + "`pipeline`" + ` more. A refusal, a fault, a fallback or a wait that never
happened has no series; of everything else all series are there from the start.

Histograms are classic and native at once: a scrape in the protobuf format, which Prometheus asks for where native
histograms are switched on, brings both. OpenTelemetry gets either explicit or exponential buckets.

`

// values lists what labels can be, from the constants themselves.
func values() string {
	rows := [][2]string{
		{"class", words(priority.Count, func(i int) string { return priority.FromIndex(i).String() })},
		{"outcome of requests, decisions, delays and waits in the queue", words(int(outcomes), func(i int) string { return outcome(i).String() })},
		{"outcome of what was released", strings.Join(endNames[:], ", ")},
		{"outcome of the store", words(int(answers), func(i int) string { return answer(i).String() })},
		{"entry", fmt.Sprintf("the names of the plan's entries; after %d names in the life of a process, %s", mostEntries, other)},
		{"stage", "the kind of stage of the entry, such as ratelimit"},
		{"reason", words(int(pipeline.Reasons)-1, func(i int) string { return pipeline.Reason(i + 1).String() })},
		{"mode", words(int(modes), func(i int) string { return pipeline.Mode(i).String() }) + "; of an entry also " + pipeline.Off.String()},
		{"kind of faults", words(int(faultKinds), func(i int) string { return pipeline.FaultKind(i).String() })},
		{"policy", words(int(pipeline.Closed)+1, func(i int) string { return pipeline.FaultPolicy(i).String() })},
		{"kind of overrides; state", "stage-mode, shed, caller, limit, reserve, pin, bypass; in-force, dry-run, pending"},
		{"kind of store failures", "failed, late, skipped, crowded"},
		{"kind of unusual returns", "reclaimed, dropped, lost"},
		{"cause", "level, room, timeout"},
		{"state of workers", "live, stale, drained"},
		{"outcome of reloads", "applied, refused"},
		{"signal; outcome of exports", "metrics, traces, logs; sent, failed"},
		{"failure", "what package proxy calls the failures of an upstream, such as dial or timeout"},
	}
	text := "\n## Values of labels\n\n| label | values |\n|---|---|\n"
	for _, row := range rows {
		text += fmt.Sprintf("| %s | %s |\n", row[0], row[1])
	}
	return text
}

func words(n int, word func(int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = word(i)
	}
	return strings.Join(list, ", ")
}

func write() string {
	var text strings.Builder
	text.WriteString(opening)
	text.WriteString("| Prometheus | OpenTelemetry | type | unit | labels | meaning | panels | alerts |\n|---|---|---|---|---|---|---|---|\n")
	for _, d := range Definitions() {
		labels := strings.Join(d.Labels, ", ")
		use := UseOf(d.Name)
		fmt.Fprintf(&text, "| `%s` | `%s` | %s | %s | %s | %s | %s | %s |\n", d.Prometheus(), d.Name, d.Type, d.Unit, labels, d.Help,
			strings.Join(use.Panels, ", "), strings.Join(use.Alerts, ", "))
	}
	fmt.Fprintf(&text, "\nBuckets of `%s` go from %v to %v seconds, of `%s` from %v to %v, in steps of one, two and five;\nthe other two have those of the first. Native buckets are 19 %% apart (schema 2).\n",
		DecisionDuration, decisionLadder.seconds()[0], decisionLadder.seconds()[classics-1],
		RequestDuration, requestLadder.seconds()[0], requestLadder.seconds()[classics-1])
	text.WriteString(values())
	return text.String()
}
