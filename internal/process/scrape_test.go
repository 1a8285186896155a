package process

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/admin"
)

// everything is a configuration with more than anybody has: two of each stage,
// one of them in shadow, and many limits.
func everything() string {
	var text strings.Builder
	text.WriteString("version: 1\nupstream: http://127.0.0.1:1\nstages:\n")
	for _, name := range []string{"rates", "more-rates"} {
		fmt.Fprintf(&text, "  - stage: ratelimit\n    name: %s\n    limits:\n", name)
		for i := range 10 {
			fmt.Fprintf(&text, "      - {name: %s-%d, key: [caller], rate: 1/hour, burst: 1}\n", name, i)
		}
	}
	text.WriteString(`  - {stage: concurrency, name: slots, limits: [{name: slots, key: [caller], max: 8}]}
  - {stage: concurrency, name: slots-trial, mode: shadow, limits: [{name: slots-trial, key: [caller], max: 1}]}
  - {stage: fleetshed}
  - {stage: workershed}
`)
	return text.String()
}

// handled is a process without listeners, in front of nothing.
func handled(t testing.TB, path, text string) *Process {
	t.Helper()
	p, err := New(Config{Path: path, Text: []byte(text), Log: &journal{}, Version: "v0"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// flood sends requests, no two alike in anything that a client chooses.
func flood(p *Process, from, to int) {
	handler := p.Handler()
	for i := from; i < to; i++ {
		r := httptest.NewRequest(fmt.Sprintf("M%d", i), fmt.Sprintf("/path/%d?id=%d", i, i), http.NoBody)
		r.Host = fmt.Sprintf("host-%d.test", i)
		r.Header.Set("X-Api-Key", fmt.Sprint("caller-", i%1000))
		r.Header.Set("X-Request-Priority", fmt.Sprint("class-", i))
		r.Header.Set("Traceparent", fmt.Sprintf("00-%032x-%016x-01", i+1, i+1))
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}

func scraped(p *Process, accept string) string {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	admin.Metrics(p.telemetry).ServeHTTP(w, r)
	return w.Body.String()
}

func seriesOf(scrape string) (n int) {
	for line := range strings.Lines(scrape) {
		if strings.HasPrefix(line, "plimsoll_") {
			n++
		}
	}
	return n
}

// Methods, hosts, paths, callers and traces of every kind make no series, and
// what is scraped stays small; promtool has nothing to say against it.
func TestAFloodMakesNoSeries(t *testing.T) {
	p := handled(t, "", everything())
	flood(p, 0, 2000)
	first := scraped(p, "text/plain")
	flood(p, 2000, 6000)
	text, open := scraped(p, "text/plain"), scraped(p, "application/openmetrics-text;version=1.0.0")
	for line := range strings.Lines(text) {
		name := line[:strings.LastIndexByte(line, ' ')+1]
		reason := strings.HasPrefix(line, "plimsoll_refusals_total{") && !flooded.MatchString(line) // of an entry that had not refused
		if strings.HasPrefix(line, "plimsoll_") && !strings.Contains(first, name) && !reason {
			t.Errorf("a new series: %s", line)
		}
	}
	if size := max(len(text), len(open)); size > 200_000 {
		t.Errorf("a scrape has %d bytes", size)
	}
	t.Logf("%d series, %d bytes, %d with exemplars", seriesOf(text), len(text), len(open))
	tool := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	tool.Stdin = strings.NewReader(text)
	if said, err := tool.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, said)
	}
}

// flooded finds what a flood is made of.
var flooded = regexp.MustCompile(`"M\d|path|host|caller|class-|id=`)

var counter = regexp.MustCompile(`(?m)^(plimsoll_\S+(?:_total|_count|_bucket|_sum)\S*) (\S+)$`)

// counters is every counter of a scrape.
func counters(t *testing.T, scrape string) map[string]float64 {
	t.Helper()
	list := map[string]float64{}
	for _, m := range counter.FindAllStringSubmatch(scrape, -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		list[m[1]] = v
	}
	return list
}

// A limit and its stage are renamed, a stage is taken out and comes back, and a
// file is refused: no counter falls, and no series is lost.
func TestCountersSurviveReloads(t *testing.T) {
	const (
		text    = "version: 1\nupstream: http://127.0.0.1:1\nstages:\n  - {stage: ratelimit, limits: [{name: slow, key: [caller], rate: 1/hour, burst: 1}]}\n"
		renamed = "version: 1\nupstream: http://127.0.0.1:1\nstages:\n  - {stage: ratelimit, name: other-name, limits: [{name: renamed, key: [caller], rate: 1/hour, burst: 1}]}\n"
		worker  = "  - {stage: workershed, max_in_flight: 8}\n"
	)
	path := file(t, text+worker)
	p := handled(t, path, "")
	last := map[string]float64{}
	for i, next := range []string{text + worker, renamed + worker, text, "version: 1\nstages: [{stage: nonsense}]\n", text + worker} {
		write(t, path, next)
		if err := p.watcher.Reload(); (err != nil) != (i == 3) {
			t.Fatalf("step %d: %v", i, err)
		}
		flood(p, 0, 50)
		now := counters(t, scraped(p, "text/plain"))
		for series, value := range last {
			if got, there := now[series]; got < value && (there || !strings.HasPrefix(series, "plimsoll_workershed_")) {
				t.Errorf("step %d: %s fell from %v to %v", i, series, value, got)
			}
		}
		for series, value := range now {
			last[series] = max(value, last[series])
		}
	}
	if last[`plimsoll_config_reloads_total{outcome="refused"}`] != 1 || last[`plimsoll_config_reloads_total{outcome="applied"}`] < 4 {
		t.Errorf("reloads: %v refused, %v applied", last[`plimsoll_config_reloads_total{outcome="refused"}`], last[`plimsoll_config_reloads_total{outcome="applied"}`])
	}
}

// Two processes in one program are scraped apart, and neither minds the other.
func TestTwoProcessesInOneProgram(t *testing.T) {
	first, second := handled(t, "", everything()), handled(t, "", everything())
	flood(first, 0, 100)
	for p, want := range map[*Process]string{first: "100", second: "0"} {
		sum := 0.0
		for series, value := range counters(t, scraped(p, "text/plain")) {
			if strings.HasPrefix(series, "plimsoll_requests_total{") {
				sum += value
			}
		}
		if fmt.Sprint(sum) != want {
			t.Errorf("%v requests, want %s", sum, want)
		}
	}
}

// BenchmarkScrape is one of all that a process tells, the runtime included.
func BenchmarkScrape(b *testing.B) {
	p := handled(b, "", everything())
	flood(p, 0, 2000)
	for b.Loop() {
		scraped(p, "text/plain")
	}
}
