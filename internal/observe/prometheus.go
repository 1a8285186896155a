package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/observability"
)

// Native makes a server take native histograms and exemplars, in place of
// classic ones.
const Native = "--enable-feature=native-histograms,exemplar-storage"

// Prometheus is a server that scrapes the workers of a stand once a second and
// evaluates the rules that are shipped.
type Prometheus struct {
	URL string

	cmd  *exec.Cmd
	log  string
	gone chan struct{}
}

// Scrape starts a server on an address of the loopback, with further arguments,
// and waits until it has scraped every worker. It ends with the stand.
func (s *Stand) Scrape(ctx context.Context, address string, args ...string) (*Prometheus, error) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return nil, ErrNoServer
	}
	dir, err := os.MkdirTemp(s.dir, "prometheus")
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	file := filepath.Join(dir, "prometheus.yml")
	for path, text := range map[string][]byte{file: s.prometheusFile(), filepath.Join(dir, "rules.yml"): observability.RuleFile()} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("observe: %w", err)
		}
	}
	p := &Prometheus{URL: "http://" + address, log: filepath.Join(dir, "log"), gone: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	defer log.Close()
	//nolint:gosec,noctx // its arguments are ours; it ends when the stand is closed
	p.cmd = exec.Command(program, append([]string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address, "--log.level=warn",
	}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	s.running.Go(func() {
		defer close(p.gone)
		_ = p.cmd.Wait()
	})
	s.ended = append(s.ended, func() { _ = p.cmd.Process.Kill() })
	return p, p.await(ctx, len(s.Admin))
}

func (s *Stand) prometheusFile() []byte {
	var b strings.Builder
	b.WriteString("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs:\n  - job_name: plimsoll\n    static_configs:\n")
	for i, address := range s.Admin {
		fmt.Fprintf(&b, "      - {targets: [%q], labels: {instance: worker-%d}}\n", address, i+1)
	}
	return []byte(b.String())
}

// await waits until all workers were scraped, for a minute at most.
func (p *Prometheus) await(ctx context.Context, workers int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if list, err := p.Instant(ctx, "sum(up) == "+strconv.Itoa(workers)); err == nil && len(list) == 1 {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.gone:
			said, _ := os.ReadFile(p.log)
			return fmt.Errorf("observe: prometheus ended at once: %s", said)
		case <-ctx.Done():
			return fmt.Errorf("observe: prometheus has not scraped all workers: %w", ctx.Err())
		}
	}
}

// Series is what a query found: its labels, and its values over time.
type Series struct {
	Labels map[string]string
	Points []Point
}

// Point is one value.
type Point struct {
	At    time.Time
	Value float64
}

// Instant runs a query for now.
func (p *Prometheus) Instant(ctx context.Context, expr string) ([]Series, error) {
	return p.ask(ctx, "query", url.Values{"query": {expr}})
}

// Range runs a query for each second of a stretch.
func (p *Prometheus) Range(ctx context.Context, expr string, from, to time.Time) ([]Series, error) {
	at := func(t time.Time) []string {
		return []string{strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)}
	}
	return p.ask(ctx, "query_range", url.Values{"query": {expr}, "start": at(from), "end": at(to), "step": {"1"}})
}

// answer is how Prometheus answers queries of both kinds.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Result []struct {
			Metric map[string]string `json:"metric"`
			Value  pair              `json:"value"`  // of an instant
			Values []pair            `json:"values"` // of a range
		} `json:"result"`
	} `json:"data"`
}

// pair is a moment in seconds, and a value as text.
type pair [2]any

func (p pair) point() (Point, bool) {
	at, _ := p[0].(float64)
	text, _ := p[1].(string)
	value, err := strconv.ParseFloat(text, 64)
	return Point{time.UnixMilli(int64(at * 1000)), value}, err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// ask runs a query; values that are no finite numbers are left out, and so are
// series without any.
func (p *Prometheus) ask(ctx context.Context, path string, query url.Values) (list []Series, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/api/v1/"+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	defer response.Body.Close()
	var a answer
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Status != "success" {
		return nil, fmt.Errorf("observe: %s: prometheus answers %d %s", query.Get("query"), response.StatusCode, a.Error)
	}
	for _, r := range a.Data.Result {
		series := Series{Labels: r.Metric}
		for _, v := range append(r.Values, r.Value) {
			if point, ok := v.point(); ok {
				series.Points = append(series.Points, point)
			}
		}
		if len(series.Points) > 0 {
			list = append(list, series)
		}
	}
	return list, nil
}
