package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// scraper is a Prometheus that scrapes a handler, started for a test.
type scraper struct {
	t   *testing.T
	url string
}

const prometheusConfig = `global: {scrape_interval: 100ms, scrape_timeout: 100ms}
scrape_configs:
  - job_name: plimsoll
    static_configs: [{targets: [%q]}]
`

// scraping starts Prometheus with everything switched on that is still
// experimental in it.
func scraping(t *testing.T, handler http.Handler) *scraper {
	t.Helper()
	target := httptest.NewServer(handler)
	t.Cleanup(target.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, fmt.Appendf(nil, prometheusConfig, strings.TrimPrefix(target.URL, "http://")), 0o600); err != nil {
		t.Fatal(err)
	}
	address := free(t)
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--enable-feature=native-histograms,exemplar-storage", "--log.level=warn")
	var said strings.Builder
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal("prometheus is needed: see scripts/install-deps.sh: ", err)
	}
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return &scraper{t, "http://" + address}
}

// free is an address on which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// want asks until an answer holds the text, or for a minute.
func (p *scraper) want(path string, query url.Values, text string) {
	p.t.Helper()
	var answer string
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if answer = p.ask(path, query); strings.Contains(answer, text) {
			return
		}
		select {
		case <-deadline.C:
			p.t.Fatalf("%s %s: no %s in %s", path, query.Encode(), text, answer)
		case <-ticker.C:
		}
	}
}

func (p *scraper) ask(path string, query url.Values) string {
	response, err := http.Get(p.url + path + "?" + query.Encode()) //nolint:noctx // a test's own server
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

// A real Prometheus takes native histograms and exemplars, and finds nothing
// wrong with a scrape.
func TestPrometheusTakesNativeHistogramsAndExemplars(t *testing.T) {
	p, counted := watched(t, pipeline.Entry{Name: "one", Stage: refusing{reason: pipeline.WorkerShed}})
	counted.Follow(p)
	r := &pipeline.Request{Trace: pipeline.Trace{ID: [16]byte{0xab}, Span: [8]byte{0xcd}}}
	p.Acquire(t.Context(), r)
	server := scraping(t, Metrics(counted))
	query := func(text string) url.Values { return url.Values{"query": {text}} }
	server.want("/api/v1/query", query("up"), `"1"]`)
	server.want("/api/v1/query", query(`histogram_count(plimsoll_decision_duration_seconds{outcome="rejected",class="normal"})`), `"1"]`)
	server.want("/api/v1/query", query(`histogram_quantile(0.9, plimsoll_decision_duration_seconds{outcome="rejected",class="normal"}) < 1`), `"value":`)
	at := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }
	server.want("/api/v1/query_exemplars", url.Values{
		"query": {"plimsoll_decision_duration_seconds"}, "start": {at(-time.Hour)}, "end": {at(time.Hour)},
	}, `"trace_id":"ab000000000000000000000000000000"`)
	var health struct {
		Data struct {
			ActiveTargets []struct{ LastError, Health string }
		}
	}
	if err := json.Unmarshal([]byte(server.ask("/api/v1/targets", nil)), &health); err != nil {
		t.Fatal(err)
	}
	for _, target := range health.Data.ActiveTargets {
		if target.Health != "up" || target.LastError != "" {
			t.Errorf("a scrape is %s: %s", target.Health, target.LastError)
		}
	}
}

// What an exemplar is in OpenMetrics, and that it is in no other text.
func TestExemplarsAreInOpenMetrics(t *testing.T) {
	p, counted := watched(t)
	counted.Follow(p)
	r := &pipeline.Request{Trace: pipeline.Trace{ID: [16]byte{0xab}, Span: [8]byte{0xcd}}}
	p.Acquire(t.Context(), r)
	p.Release(r, pipeline.Result{})
	const example = `# {trace_id="ab000000000000000000000000000000",span_id="cd00000000000000"}`
	for accept, want := range map[string]int{"text/plain": 0, "application/openmetrics-text;version=1.0.0": 2} {
		request := httptest.NewRequest("GET", "/metrics", nil)
		request.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		Metrics(counted).ServeHTTP(w, request)
		if n := strings.Count(w.Body.String(), example); n != want {
			t.Errorf("%s has %d exemplars, want %d", accept, n, want)
		}
	}
}

// promtool finds nothing to say against names, units and help.
func TestPromtoolChecksMetrics(t *testing.T) {
	p, counted := watched(t, pipeline.Entry{Name: "one", Stage: refusing{reason: pipeline.WorkerShed}})
	counted.Follow(p)
	send(p, 0)
	tool := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	tool.Stdin = ask(Metrics(counted), "GET", "localhost", "/metrics").Body
	if said, err := tool.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, said)
	}
}
