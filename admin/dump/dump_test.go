package dump

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// looker refuses requests of a host.
type looker string

func (l looker) Look(r *pipeline.Request) pipeline.Decision {
	if r.Host == string(l) {
		return pipeline.Refuse(pipeline.RateLimited)
	}
	return pipeline.Decision{}
}

func dumped(t *testing.T, limits func() []Limit) (*pipeline.Pipeline, http.Handler) {
	t.Helper()
	lanes := func() (points []telemetry.Point) {
		for _, class := range priority.All {
			points = append(points, telemetry.Point{Labels: []string{"worker", class.String()}, Value: float64(class.Index())})
		}
		return points
	}
	counted, err := telemetry.New(telemetry.Config{Sources: []telemetry.Source{
		{Metric: telemetry.WorkerQueued, Read: lanes},
		{Metric: telemetry.WorkerLevel, Read: func() []telemetry.Point { return []telemetry.Point{{Labels: []string{"worker"}, Value: 1.5}} }},
		{Metric: telemetry.StoreKeys, Read: func() []telemetry.Point { return []telemetry.Point{{Value: 42}} }},
		{Metric: telemetry.FleetWorkers, Read: func() []telemetry.Point { return []telemetry.Point{{Labels: []string{"live"}, Value: 3}} }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "rate", Kind: "ratelimit", Stage: looker("refused")},
		pipeline.Entry{Name: "dark", Kind: "fleetshed", Mode: pipeline.Shadow, Stage: looker("shadowed")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: counted})
	if err != nil {
		t.Fatal(err)
	}
	counted.Follow(p)
	handler, err := New(Config{Pipeline: p, Telemetry: counted, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return p, handler
}

func ask(handler http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// rows is the cells of an answer, without spaces between them.
func rows(t *testing.T, handler http.Handler, name string) (list []string) {
	t.Helper()
	w := ask(handler, http.MethodGet, Prefix+name)
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%s: %d, %s", name, w.Code, w.Header())
	}
	for line := range strings.Lines(w.Body.String()) {
		list = append(list, strings.Join(strings.Fields(line), " "))
	}
	return list
}

func TestEachDumpTellsWhatThereIs(t *testing.T) {
	p, handler := dumped(t, func() []Limit { return []Limit{{"rate", "per-caller", "caller", "100/s, burst 200"}} })
	for _, host := range []string{"fine", "refused", "refused", "shadowed"} {
		r := &pipeline.Request{Subject: match.Subject{Host: host}, Class: priority.High}
		if p.Acquire(t.Context(), r).Verdict == pipeline.Admit {
			p.Release(r, pipeline.Result{})
		}
	}
	held := &pipeline.Request{Class: priority.Critical, Caller: pipeline.Caller{Name: "alice"}}
	p.Acquire(t.Context(), held)
	defer p.Release(held, pipeline.Result{})
	for name, want := range map[string]string{
		"entries": "rate ratelimit enforce local 2 0 0",
		"classes": "high rate-limited rate enforce 2",
		"queues":  "worker high 0 0 2 0 0 0",
		"limits":  "rate per-caller caller 100/s, burst 200",
		"store":   "store.keys - 42",
		"fleet":   "fleet.workers live 3",
	} {
		if got := rows(t, handler, name); !slices.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", name, want, strings.Join(got, "\n"))
		}
	}
	if got := rows(t, handler, "entries"); !slices.Contains(got, "dark fleetshed shadow local 0 1 0") {
		t.Errorf("entries: %q", got)
	}
	got := rows(t, handler, "holders")
	if cells := strings.Fields(got[len(got)-1]); len(got) != 3 || !slices.Equal(cells[1:6], []string{"critical", "alice", "other", "-", "running"}) {
		t.Errorf("holders: %q", got)
	}
	for _, d := range dumps {
		if !slices.ContainsFunc(rows(t, handler, ""), func(row string) bool { return strings.HasPrefix(row, Prefix+d.name+" ") }) {
			t.Errorf("%s is not listed", d.name)
		}
	}
}

// Whoever is in flight, and however they are called: the table stays one, and
// is bounded.
func TestADumpIsBoundedAndPlain(t *testing.T) {
	p, handler := dumped(t, nil)
	for i := range 3000 {
		r := &pipeline.Request{Caller: pipeline.Caller{Name: fmt.Sprintf("evil\x1b[2J\n%d\xff ", i) + strings.Repeat("ä", 500)}}
		p.Acquire(t.Context(), r)
		defer p.Release(r, pipeline.Result{})
	}
	text := ask(handler, http.MethodGet, Prefix+"holders").Body.String()
	if n := strings.Count(text, "\n"); n != mostRows+3 || !strings.Contains(text, "# 2500 more are not shown") || len(text) > 500_000 {
		t.Errorf("%d lines, %d bytes", n, len(text))
	}
	if strings.ContainsAny(text, "\x1b\r") || !utf8.ValidString(text) {
		t.Error("it writes to the terminal")
	}
	width := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if fields := len(strings.Fields(line)); width != 0 && fields != width {
			t.Fatalf("%d fields, want %d, in %s", fields, width, line)
		} else {
			width = fields
		}
	}
}

func TestADumpIsOnlyRead(t *testing.T) {
	_, handler := dumped(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodPost, Prefix + "entries", http.StatusMethodNotAllowed}, {http.MethodGet, Prefix + "nothing", http.StatusNotFound},
		{http.MethodHead, Prefix + "entries", http.StatusOK}, {http.MethodGet, strings.TrimSuffix(Prefix, "/"), http.StatusOK},
		{http.MethodGet, Prefix + "limits/", http.StatusOK},
	} {
		if w := ask(handler, c.method, c.path); w.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.status)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("nothing to tell is no error")
	}
}
