package httpmw_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

func probes(t testing.TB) httpmw.Config {
	t.Helper()
	table, err := match.NewTable("/healthz")
	if err != nil {
		t.Fatal(err)
	}
	m, err := table.Compile(match.Rule{Path: "/healthz", Methods: []string{"GET", "HEAD"}})
	if err != nil {
		t.Fatal(err)
	}
	return httpmw.Config{Exempt: []*match.Matcher{m}, ExemptInFlight: 2}
}

func TestProbesPassWhateverIsShed(t *testing.T) {
	for target, want := range map[string]int{
		"/healthz":               200,
		"/healthz?full=1":        200,
		"/other":                 503,
		"//healthz":              503, // spelled so that servers may disagree
		"/x/../healthz":          503,
		"/x%2f..%2fhealthz":      503,
		"/%68ealthz":             503,
		"/files/..%2f..%2fadmin": 503,
	} {
		w := ask(t, probes(t), "workershed", refusing(pipeline.WorkerShed, pipeline.Detail{}), newRequest("GET", target), nothing)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
	}
	if w := ask(t, probes(t), "workershed", refusing(pipeline.WorkerShed, pipeline.Detail{}), newRequest("POST", "/healthz"), nothing); w.Code != 503 {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestProbesAreBounded(t *testing.T) {
	p := one(t, nil, "workershed", refusing(pipeline.WorkerShed, pipeline.Detail{}))
	hold, entered := make(chan struct{}), make(chan struct{})
	h := protect(t, probes(t), p).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-hold
	}))
	done := make(chan int)
	for range 2 {
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, newRequest("GET", "/healthz"))
			done <- w.Code
		}()
		<-entered
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newRequest("GET", "/healthz"))
	if got := w.Header().Get("Plimsoll-Decision"); w.Code != 503 || !strings.HasPrefix(got, "stage=exempt, reason=worker-shed") {
		t.Errorf("a third probe: %d %q", w.Code, got)
	}
	close(hold)
	for range 2 {
		if code := <-done; code != 200 {
			t.Errorf("%d", code)
		}
	}
	go func() { <-entered }()
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, newRequest("GET", "/healthz")); w.Code != 200 {
		t.Errorf("after they ended: %d", w.Code)
	}
}
