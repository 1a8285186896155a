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
several pipelines, each figure has a label ` + "`pipeline`" + ` more. A refusal or a fault that never happened has no series;
of everything else all series are there from the start.

`

// values lists what labels can be, from the constants themselves.
func values() string {
	rows := [][2]string{
		{"class", words(priority.Count, func(i int) string { return priority.FromIndex(i).String() })},
		{"outcome of requests and decisions", words(int(outcomes), func(i int) string { return outcome(i).String() })},
		{"outcome of what was released", strings.Join(endNames[:], ", ")},
		{"entry", fmt.Sprintf("the names of the plan's entries; after %d names in the life of a process, %s", mostEntries, other)},
		{"stage", "the kind of stage of the entry, such as ratelimit"},
		{"reason", words(int(pipeline.Reasons)-1, func(i int) string { return pipeline.Reason(i + 1).String() })},
		{"mode", words(int(modes), func(i int) string { return pipeline.Mode(i).String() }) + "; of an entry also " + pipeline.Off.String()},
		{"kind", words(int(faultKinds), func(i int) string { return pipeline.FaultKind(i).String() })},
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
	text.WriteString("| Prometheus | OpenTelemetry | type | unit | labels | meaning |\n|---|---|---|---|---|---|\n")
	for _, d := range Definitions() {
		labels := strings.Join(d.Labels, ", ")
		fmt.Fprintf(&text, "| `%s` | `%s` | %s | %s | %s | %s |\n", d.Prometheus(), d.Name, d.Type, d.Unit, labels, d.Help)
	}
	fmt.Fprintf(&text, "\nBuckets of `%s` go from %v to %v seconds, of `%s` from %v to %v, in steps of one, two and five.\n",
		DecisionDuration, decisionLadder.seconds()[0], decisionLadder.seconds()[bounds-1],
		RequestDuration, requestLadder.seconds()[0], requestLadder.seconds()[bounds-1])
	text.WriteString(values())
	return text.String()
}
