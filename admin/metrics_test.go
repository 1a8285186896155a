package admin

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

func TestAScrapeTellsOfThePipelineAndTheRuntime(t *testing.T) {
	p, counted := watched(t, pipeline.Entry{Name: "one", Stage: refusing{reason: pipeline.WorkerShed}})
	send(p, 0)
	scrape := ask(Metrics(counted), "GET", "localhost", "/metrics").Body.String()
	for _, line := range []string{
		`plimsoll_requests_total{class="normal",outcome="rejected"} 1`,
		`plimsoll_serving 1`,
		`go_goroutines `,
		`process_cpu_seconds_total `,
	} {
		if !strings.Contains(scrape, "\n"+line) {
			t.Errorf("a scrape lacks %s", line)
		}
	}
}

// counted is a Telemetry that knows the process to serve.
func counted(t testing.TB) *telemetry.Telemetry {
	t.Helper()
	counted, err := telemetry.New(telemetry.Config{Sources: []telemetry.Source{{
		Metric: telemetry.Serving, Read: func() []telemetry.Point { return []telemetry.Point{{Value: 1}} },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return counted
}

// OpenMetrics has what the text format has not, exemplars above all.
func TestWhoAsksForOpenMetricsGetsIt(t *testing.T) {
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	w := httptest.NewRecorder()
	Metrics(counted(t)).ServeHTTP(w, r)
	if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(w.Body.String(), "# EOF\n") {
		t.Errorf("it answers %s", kind)
	}
}
