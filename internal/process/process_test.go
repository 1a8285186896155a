package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/config"
)

// running is a process that serves on loopback.
type running struct {
	*Process
	url, side string // of the public and of the admin listener
	log       *journal
	stop      func() error // ends it, and returns what Serve returned
}

// journal keeps what was written; it may be read meanwhile.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// start runs a process in front of a handler. path is a file, or empty for the
// built-in configuration.
func start(t *testing.T, path string, upstream http.HandlerFunc) *running {
	t.Helper()
	backend := httptest.NewServer(upstream)
	t.Cleanup(backend.Close)
	r := &running{log: &journal{}}
	var err error
	r.Process, err = New(Config{Path: path, Log: r.log, Version: "v0", Overlays: []config.Overlay{func(f *config.File) config.Errors {
		f.Upstream = config.URL(backend.URL)
		return nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	public, operators := listen(t), listen(t)
	r.url, r.side = "http://"+public.Addr().String(), "http://"+operators.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, public, operators) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() { r.stop() })
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plimsoll.yaml")
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

func TestAProcessServesItsUpstreamAndItsOperators(t *testing.T) {
	r := start(t, "", hello)
	if status, body := get(t, r.url); status != 200 || body != "hello" {
		t.Errorf("the upstream answers %d %q", status, body)
	}
	for path, want := range map[string]string{
		"/healthz": "ok\n", "/readyz": "ready\n", "/metrics": `plimsoll_requests_total{class="normal",outcome="admitted"} 1`,
	} {
		if status, body := get(t, r.side+path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s answers %d %q, want %q", path, status, body, want)
		}
	}
	var s admin.Status
	_, body := get(t, r.side+"/status")
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatal(err)
	}
	if s.State != admin.Serving || s.Version != "v0" || s.Store.State != "ok" || s.Config.Source != BuiltIn || s.Config.Generation != 1 {
		t.Errorf("status %+v", s)
	}
	if len(s.Stages) != 4 || s.Stages[3].Kind != "workershed" || s.Stages[3].Detail == nil || s.Stages[2].Detail == nil {
		t.Errorf("stages %+v", s.Stages)
	}
	if err := r.stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestTheOperatorsListenerAnswersNoNameThatLeadsToIt(t *testing.T) {
	r := start(t, "", hello)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.side+"/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.test"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("answered %d", response.StatusCode)
	}
}

// SIGTERM while a request runs: the request ends, probes are told at once that
// no more should come, and then the process is gone.
func TestDrainingEndsWhatIsInFlight(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	r := start(t, "", func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		io.WriteString(w, "late, but whole")
	})
	answer := make(chan string, 1)
	go func() {
		_, body := get(t, r.url)
		answer <- body
	}()
	<-entered
	if n := r.Status().InFlight; n != 1 {
		t.Errorf("%d requests are in flight", n)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	for r.Status().State != admin.Draining {
		runtime.Gosched()
	}
	if status, _ := get(t, r.side+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("readiness answers %d while it drains", status)
	}
	if status, _ := get(t, r.side+"/healthz"); status != http.StatusOK {
		t.Errorf("health answers %d while it drains", status)
	}
	close(leave)
	if body := <-answer; body != "late, but whole" {
		t.Errorf("the request in flight got %q", body)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if n := r.Status().InFlight; n != 0 {
		t.Errorf("%d requests are in flight at the end", n)
	}
}

const twoOnly = `
version: 1
stages:
  - stage: ratelimit
    limits: [{name: all, rate: 1/h, burst: %d}]
  - stage: workershed
    max_in_flight: %d
`

// A reload changes limits, and loses neither what was spent nor what runs.
func TestAReloadKeepsBucketsAndRequestsInFlight(t *testing.T) {
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	path := file(t, fmt.Sprintf(twoOnly, 2, 40))
	r := start(t, path, func(_ http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/slow" {
			entered <- struct{}{}
			<-leave
		}
	})
	slow := make(chan int, 1)
	go func() {
		status, _ := get(t, r.url+"/slow")
		slow <- status
	}()
	<-entered
	write(t, path, fmt.Sprintf(twoOnly, 3, 50))
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.InFlight != 1 || s.Config.Generation != 2 {
		t.Errorf("%d in flight, generation %d", s.InFlight, s.Config.Generation)
	}
	// One of three tokens is spent: two more requests pass, and not three.
	for i, want := range []int{200, 200, 429} {
		if status, body := get(t, r.url); status != want {
			t.Errorf("request %d after the reload is answered %d %s, want %d", i, status, body, want)
		}
	}
	close(leave)
	if status := <-slow; status != 200 {
		t.Errorf("the request that was admitted before is answered %d", status)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if n := r.Status().InFlight; n != 0 {
		t.Errorf("%d in flight at the end", n)
	}
}

func TestAFaultyFileLeavesTheLastGoodOneRunning(t *testing.T) {
	path := file(t, fmt.Sprintf(twoOnly, 100, 40))
	r := start(t, path, hello)
	write(t, path, "version: 1\nstages: [{stage: nonsense}]\nlisten: nowhere\n")
	err := r.Reload()
	problems, ok := errors.AsType[config.Errors](err)
	if !ok || len(problems) != 2 {
		t.Errorf("the error is %v", err)
	}
	s := r.Status()
	if s.Config.Generation != 1 || !strings.Contains(s.Config.Error, "nonsense") || s.Config.Refused.IsZero() {
		t.Errorf("status %+v", s.Config)
	}
	if _, body := get(t, r.side+"/metrics"); !strings.Contains(body, "\nplimsoll_config_ok 0") {
		t.Error("metrics do not tell")
	}
	if status, _ := get(t, r.url); status != 200 {
		t.Errorf("requests are answered %d", status)
	}
	write(t, path, fmt.Sprintf(twoOnly, 100, 41))
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.Config.Generation != 2 || s.Config.Error != "" {
		t.Errorf("status %+v", s.Config)
	}
}

func TestWhatCountsAfterTheNextStartIsTold(t *testing.T) {
	path := file(t, "version: 1\n")
	r := start(t, path, hello)
	write(t, path, "version: 1\nadmin: {listen: 127.0.0.1:9999}\nlog: {level: warn}\n")
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := r.Status().Config.AfterRestart; len(got) != 1 || got[0] != "admin.listen" {
		t.Errorf("after the next start: %v", got)
	}
	if !strings.Contains(r.log.String(), "admin.listen") {
		t.Error("the log does not tell")
	}
	if got := r.level.Level().String(); got != "WARN" {
		t.Errorf("the log's level is %s", got)
	}
}

// Nobody outside says how much a request matters to the service behind.
func TestTheClassHeaderIsOurs(t *testing.T) {
	seen := make(chan http.Header, 1)
	r := start(t, "", func(_ http.ResponseWriter, q *http.Request) { seen <- q.Header })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header["X-Request-Criticality"] = []string{"critical", "critical"}
	request.Header["X_request_criticality"] = []string{"critical"}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	got := <-seen
	if class := got["X-Request-Criticality"]; len(class) != 1 || class[0] != "normal" {
		t.Errorf("the upstream sees %q", class)
	}
	if alike := got["X_request_criticality"]; alike != nil {
		t.Errorf("the upstream sees %q under a name that many servers read as the same", alike)
	}
}

func TestNewRefusesWhatCannotRun(t *testing.T) {
	if _, err := New(Config{Log: io.Discard}); !errors.Is(err, ErrNoUpstream) {
		t.Errorf("without an upstream the error is %v", err)
	}
	_, err := New(Config{Path: file(t, "version: 2\nlisten: x\n"), Log: io.Discard})
	if problems, ok := errors.AsType[config.Errors](err); !ok || len(problems) != 2 {
		t.Errorf("for a faulty file the error is %v", err)
	}
	if _, err := New(Config{Path: filepath.Join(t.TempDir(), "none"), Log: io.Discard}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("for no file the error is %v", err)
	}
	overlay := func(*config.File) config.Errors { return config.Errors{{Message: "planted"}} }
	if _, err := New(Config{Overlays: []config.Overlay{overlay}, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "planted") {
		t.Errorf("for a faulty overlay the error is %v", err)
	}
}

func TestWithoutAFileThereIsNothingToReload(t *testing.T) {
	r := start(t, "", hello)
	if err := r.Reload(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.log.String(), "no file to read again") {
		t.Error("the log does not tell")
	}
}

func TestRunSaysWhyItCannotListen(t *testing.T) {
	taken := listen(t)
	defer taken.Close()
	for key, text := range map[string]string{
		"process: listen: ":       fmt.Sprintf("version: 1\nupstream: http://127.0.0.1:9\nlisten: %s\n", taken.Addr()),
		"process: admin.listen: ": fmt.Sprintf("version: 1\nupstream: http://127.0.0.1:9\nlisten: 127.0.0.1:0\nadmin: {listen: %s}\n", taken.Addr()),
	} {
		p, err := New(Config{Text: []byte(text), Log: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), key) || !strings.Contains(err.Error(), taken.Addr().String()) {
			t.Errorf("Run returned %v", err)
		}
	}
}
