package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

var testContext = context.Background()

// sample is a status with something in every place.
func sample() Status {
	return Status{
		Version: "v1.2.3", State: Serving, Started: time.Unix(1000, 0).UTC(), Uptime: time.Hour,
		Listen: "127.0.0.1:8080", Upstream: "http://127.0.0.1:9000", InFlight: 7,
		Config: Configuration{Source: "plimsoll.yaml", Generation: 3, Loaded: time.Unix(2000, 0).UTC(), Error: "line 3", Refused: time.Unix(3000, 0).UTC()},
		Store:  Store{Driver: "memory", State: "degraded", Budget: 2 * time.Millisecond},
		Stages: []Stage{{Name: "ratelimit", Kind: "ratelimit", Mode: "shadow", OnFault: "local"}},
		Counts: Counts{
			Classes: []ClassCounts{{Class: priority.Critical, Admitted: 5, Abandoned: 2, Rejected: 4}},
			Entries: []EntryCounts{{
				Entry:    "ratelimit",
				Rejected: []RefusalCount{{priority.Critical, "rate-limited", 4}},
				Shadowed: []RefusalCount{{priority.Low, "rate-limited", 9}},
				Faults:   []FaultCount{{"panic", 1}},
			}},
			Faults: []FaultCount{{"store", 8}},
		},
	}
}

func handler(t *testing.T, ready bool, anyHost bool) http.Handler {
	t.Helper()
	h, err := New(Config{Status: sample, Ready: func() bool { return ready }, Metrics: Metrics(counted(t)), AnyHost: anyHost})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(h http.Handler, method, host, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		method, path string
		ready        bool
		status       int
		want         string
	}{
		{"GET", "/healthz", false, 200, "ok\n"},
		{"HEAD", "/healthz", true, 200, ""},
		{"GET", "/readyz", true, 200, "ready\n"},
		{"GET", "/readyz", false, 503, "not ready\n"},
		{"HEAD", "/readyz", false, 503, ""},
		{"GET", "/status", true, 200, `"version": "v1.2.3"`},
		{"GET", "/metrics", true, 200, `plimsoll_serving 1`},
		{"GET", "/debug/pprof/", true, 404, ""},
		{"GET", "/", true, 404, ""},
		{"POST", "/healthz", true, 405, ""},
		{"POST", "/status", true, 405, ""},
		{"DELETE", "/metrics", true, 405, ""},
	} {
		w := ask(handler(t, c.ready, false), c.method, "127.0.0.1:9901", c.path)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s answers %d %q, want %d %q", c.method, c.path, w.Code, w.Body, c.status, c.want)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s answers with headers %v", c.method, c.path, w.Header())
		}
		for name := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s %s lets pages of others read it: %s", c.method, c.path, name)
			}
		}
	}
}

// A name that leads here is not enough: pages of others come by one.
func TestOnlyLoopbackHostsAreAnswered(t *testing.T) {
	for host, want := range map[string]int{
		"127.0.0.1:9901": 200, "127.0.0.1": 200, "127.8.8.8:1": 200, "[::1]:9901": 200, "[::1]": 200, "localhost": 200, "localhost:9901": 200,
		"evil.test": 421, "evil.test:9901": 421, "": 421, "127.0.0.1.evil.test": 421, "localhost.evil.test": 421, "192.0.2.1": 421, "0.0.0.0": 421, "[::1]evil:80": 421,
	} {
		for _, path := range []string{"/status", "/metrics", "/healthz"} {
			if w := ask(handler(t, true, false), "GET", host, path); w.Code != want {
				t.Errorf("host %q gets %d from %s, want %d", host, w.Code, path, want)
			}
			if w := ask(handler(t, true, true), "GET", host, path); w.Code != 200 {
				t.Errorf("with any host allowed, %q gets %d from %s", host, w.Code, path)
			}
		}
	}
}

func TestAStatusSurvivesItsJSON(t *testing.T) {
	var got Status
	w := ask(handler(t, true, false), "GET", "localhost", "/status")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if want := sample(); !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v, want\n%+v", got, want)
	}
}

func TestNewWantsAllItNeeds(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("taken")
	}
}

func TestTheServerBoundsEverything(t *testing.T) {
	s := Server(http.NotFoundHandler())
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 {
		t.Errorf("%+v", s)
	}
}
