package httpmw_test

import (
	"context"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// described is what the stages see of a request, and what the handler gets.
func described(t testing.TB, c httpmw.Config, r *http.Request) (*pipeline.Request, *http.Request) {
	t.Helper()
	w := newWitness()
	var got *http.Request
	h := protect(t, c, one(t, w, "x", looking(func(*pipeline.Request) pipeline.Decision { return pipeline.Decision{} })))
	h.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })).ServeHTTP(discard{http.Header{}}, r)
	return w.last(), got
}

// discard is a ResponseWriter that keeps nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// chargesAreCritical: POST /v1/charges is critical, /batch/ is low.
func chargesAreCritical(t testing.TB) *priority.Rules {
	t.Helper()
	table, err := match.NewTable("/v1/charges", "/batch/")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := priority.NewRules(table, priority.Normal,
		priority.Rule{Class: priority.Critical, Match: match.Rule{Methods: []string{"POST"}, Path: "/v1/charges"}},
		priority.Rule{Class: priority.Low, Match: match.Rule{Path: "/batch/"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestARequestIsDescribed(t *testing.T) {
	who, err := identity.New(identity.Config{Sources: []string{"subject", "header:x-api-key"}}) // as people write it
	if err != nil {
		t.Fatal(err)
	}
	c := httpmw.Config{
		Identity: who,
		Subject:  func(r *http.Request) (string, bool) { return r.Header.Get("Verified"), r.Header.Get("Verified") != "" },
		Rules:    chargesAreCritical(t),
		Cost:     func(r *http.Request) int64 { return int64(len(r.URL.RawQuery)) },
	}
	r := newRequest("POST", "/v1/charges?abc")
	r.Header.Set("X-Api-Key", "key")
	q, _ := described(t, c, r)
	if q.Method != "POST" || q.Host != "service" || q.Path != "/v1/charges" || q.Caller.Name != "key" || !q.Caller.Secret ||
		q.Address != netip.MustParseAddr("192.0.2.1") || q.Class != priority.Critical || q.Cost != 3 || q.Now == 0 || q.Deadline != 0 {
		t.Errorf("%+v", q)
	}
	if want := priority.CohortOf(q.Caller.ID.Hi, q.Now); q.Cohort != want {
		t.Errorf("cohort %d, want %d", q.Cohort, want)
	}
	r.Header.Set("Verified", "acme")
	if q, _ := described(t, c, r); q.Caller.Name != "acme" || q.Caller.Source != "subject" {
		t.Errorf("%+v", q.Caller)
	}
}

func TestANegativeCostIsNone(t *testing.T) {
	q, _ := described(t, httpmw.Config{Cost: func(*http.Request) int64 { return -5 }}, newRequest("GET", "/"))
	if q.Cost != 1 {
		t.Errorf("cost %d", q.Cost)
	}
}

func TestClassesAreClaimedWithinTheCeiling(t *testing.T) {
	c := httpmw.Config{
		Rules:       chargesAreCritical(t),
		Propagation: httpmw.Propagation{ClassHeader: "x-request-criticality"},
	}
	google := c
	google.Propagation.Scheme = priority.Google
	high := c
	high.Ceiling = func(who *pipeline.Caller) priority.Class {
		if who.Name == "192.0.2.1" {
			return priority.High
		}
		return priority.Low
	}
	for _, l := range []struct {
		what         string
		c            httpmw.Config
		method, path string
		claims       []string
		want         priority.Class
		passedOn     string
	}{
		{"nothing claimed", c, "POST", "/v1/charges", nil, priority.Critical, ""},
		{"lowered", c, "POST", "/v1/charges", []string{"low"}, priority.Low, "low"},
		{"any case, blanks", c, "POST", "/v1/charges", []string{" Normal "}, priority.Normal, "normal"},
		{"not raised without a ceiling", c, "GET", "/", []string{"critical"}, priority.Normal, "normal"},
		{"not raised from low", c, "GET", "/batch/1", []string{"normal"}, priority.Low, "low"},
		{"raised to the ceiling", high, "GET", "/", []string{"critical"}, priority.High, "high"},
		{"a claim below the ceiling", high, "GET", "/batch/1", []string{"normal"}, priority.Normal, "normal"},
		{"no class", c, "GET", "/", []string{"urgent"}, priority.Normal, "normal"},
		{"a number is no class", c, "GET", "/", []string{"499"}, priority.Normal, "normal"},
		{"two lines: the lowest", high, "POST", "/v1/charges", []string{"critical", "low"}, priority.Low, "low"},
		{"two lines, one no class", high, "POST", "/v1/charges", []string{"critical", "x"}, priority.Critical, "critical"},
		{"a list is no class", high, "GET", "/", []string{"critical, critical"}, priority.Normal, "normal"},
		{"Google's names", google, "POST", "/v1/charges", []string{"SHEDDABLE_PLUS"}, priority.Normal, "SHEDDABLE_PLUS"},
		{"Google's critical is high", google, "POST", "/v1/charges", []string{"CRITICAL"}, priority.High, "CRITICAL"},
	} {
		r := newRequest(l.method, l.path)
		if l.claims != nil {
			r.Header["X-Request-Criticality"] = l.claims
		}
		q, got := described(t, l.c, r)
		if q.Class != l.want {
			t.Errorf("%s: class %v, want %v", l.what, q.Class, l.want)
		}
		if passed := strings.Join(got.Header["X-Request-Criticality"], "|"); passed != l.passedOn {
			t.Errorf("%s: passed on as %q, want %q", l.what, passed, l.passedOn)
		}
	}
}

// Whatever stands in the header, the class is never above what the rules gave
// or the ceiling, whichever is higher.
func TestNoHeaderRaisesAboveTheCeiling(t *testing.T) {
	rules := chargesAreCritical(t)
	rapid.Check(t, func(rt *rapid.T) {
		ceiling := rapid.SampledFrom(priority.All[:]).Draw(rt, "ceiling")
		scheme := rapid.SampledFrom([]priority.Scheme{priority.Plimsoll, priority.Google}).Draw(rt, "scheme")
		path := rapid.SampledFrom([]string{"/v1/charges", "/batch/1", "/other"}).Draw(rt, "path")
		claims := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"critical", "CRITICAL", "CRITICAL_PLUS", "high", "low", "SHEDDABLE", "critical,low"}), rapid.String(),
		)).Draw(rt, "claims")
		r := newRequest("GET", path)
		r.Header["X-Request-Criticality"] = claims
		q, _ := described(t, httpmw.Config{
			Rules: rules, Ceiling: func(*pipeline.Caller) priority.Class { return ceiling },
			Propagation: httpmw.Propagation{ClassHeader: priority.Header, Scheme: scheme},
		}, r)
		ruled := priority.Normal
		if path == "/batch/1" {
			ruled = priority.Low
		}
		if q.Class > max(ruled, ceiling) {
			rt.Fatalf("%q by a caller of ceiling %v is %v", claims, ceiling, q.Class)
		}
	})
}

// A path that means one thing decoded and another one not is limited by what
// it decodes to, and raised by nothing.
func TestAHiddenSlashRaisesNothing(t *testing.T) {
	c := httpmw.Config{Rules: chargesAreCritical(t)}
	for path, want := range map[string]priority.Class{
		"/v1/charges":           priority.Critical,
		"/v1/%63harges":         priority.Critical, // means the same to everybody
		"/v1%2Fcharges":         priority.Normal,
		"/v1%2fcharges":         priority.Normal,
		"/x/..%2fv1/charges":    priority.Normal,
		"/x/%2e%2e/v1/charges":  priority.Normal,
		"/x/%2E./v1/charges":    priority.Normal,
		"/batch%2f1":            priority.Low,
		"/v1/charges?a=%2f%2e":  priority.Critical,
		"/v1/charges%3F":        priority.Normal, // another path
		"//v1/charges":          priority.Critical,
		"/v1/x/../charges":      priority.Critical,
		"/v1/charges/":          priority.Critical,
		"/v1/charges%20":        priority.Normal, // another path
		"/%76%31/%63%68arges":   priority.Critical,
		"/v1/charges%":          priority.Normal, // no URL: see below
		"/v1/charge%73/../%2e/": priority.Normal,
	} {
		r, err := http.NewRequest("POST", "http://service"+path, nil)
		if err != nil {
			continue // a server answers 400
		}
		r.RemoteAddr = "192.0.2.1:1"
		if q, _ := described(t, c, r); q.Class != want {
			t.Errorf("%s: %v, want %v", path, q.Class, want)
		}
	}
}

func TestDeadlines(t *testing.T) {
	within := func(got, want time.Duration) bool { return got <= want && got > want-10*time.Second }
	for _, l := range []struct {
		what, header, value string
		context             time.Duration // 0: none
		want                time.Duration // 0: none
	}{
		{"nothing", "X-Request-Timeout", "", 0, 0},
		{"context", "X-Request-Timeout", "", time.Minute, time.Minute},
		{"milliseconds", "X-Request-Timeout", "60000", 0, time.Minute},
		{"with unit", "X-Request-Timeout", "60000ms", 0, time.Minute},
		{"seconds", "X-Request-Timeout", "60.0s", 0, time.Minute},
		{"the earlier", "X-Request-Timeout", "60s", time.Hour, time.Minute},
		{"the earlier is the context", "X-Request-Timeout", "3000s", time.Minute, time.Minute},
		{"an hour at most", "X-Request-Timeout", "999999999999999999999s", 0, time.Hour},
		{"minutes are ambiguous", "X-Request-Timeout", "5m", 0, 0},
		{"negative", "X-Request-Timeout", "-5", 0, 0},
		{"fraction of nothing", "X-Request-Timeout", "1.5", 0, 0},
		{"not a number", "X-Request-Timeout", "NaN", 0, 0},
		{"infinite", "X-Request-Timeout", "Infs", 0, 0},
		{"empty", "X-Request-Timeout", "s", 0, 0},
		{"gRPC", "grpc-timeout", "60000m", 0, time.Minute},
		{"gRPC minutes", "grpc-timeout", "1M", 0, time.Minute},
		{"gRPC overflow", "grpc-timeout", "99999999H", 0, time.Hour},
		{"gRPC nine digits", "grpc-timeout", "100000000n", 0, 0},
		{"gRPC without unit", "grpc-timeout", "60", 0, 0},
		{"gRPC sign", "grpc-timeout", "+1M", 0, 0},
	} {
		r := newRequest("GET", "/")
		if l.value != "" {
			r.Header.Set(l.header, l.value)
		}
		if l.context > 0 {
			ctx, cancel := context.WithTimeout(t.Context(), l.context)
			defer cancel()
			r = r.WithContext(ctx)
		}
		q, _ := described(t, httpmw.Config{Propagation: httpmw.Propagation{TimeoutHeader: l.header}}, r)
		if left := time.Duration(q.Deadline - q.Now); l.want == 0 != (q.Deadline == 0) || l.want != 0 && !within(left, l.want) {
			t.Errorf("%s: %v left (deadline %d), want %v", l.what, left, q.Deadline, l.want)
		}
	}
	r := newRequest("GET", "/")
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1<<40, 0))
	defer cancel()
	if q, _ := described(t, httpmw.Config{}, r.WithContext(ctx)); q.Deadline < q.Now {
		t.Errorf("a deadline in the far future is %d", q.Deadline)
	}
}

func TestCostsThatTheHandlerReports(t *testing.T) {
	for what, h := range map[string]http.HandlerFunc{
		"header":  func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Cost", "7") },
		"context": func(_ http.ResponseWriter, r *http.Request) { httpmw.SetCost(r.Context(), 7) },
		"not a cost": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Cost", "-3")
			httpmw.SetCost(r.Context(), -3)
		},
		"no number": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Cost", "7e3") },
		"too large": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Cost", "99999999999999999999") },
	} {
		o := newWitness()
		w := discard{http.Header{}}
		m := protect(t, httpmw.Config{CostHeader: "x-cost"}, one(t, o, "x", granting(pipeline.Detail{})))
		m.Wrap(h).ServeHTTP(w, newRequest("GET", "/"))
		want := int64(7)
		switch what {
		case "not a cost", "no number":
			want = 0
		case "too large":
			want = math.MaxInt64
		}
		if got := o.results[0].Cost; got != want {
			t.Errorf("%s: cost %d, want %d", what, got, want)
		}
		if len(w.header["X-Cost"]) > 0 {
			t.Errorf("%s: the client is told", what)
		}
	}
	httpmw.SetCost(t.Context(), 1) // of nobody's
}

func TestConfigurationFaults(t *testing.T) {
	subject, err := identity.New(identity.Config{Sources: []string{"subject"}})
	if err != nil {
		t.Fatal(err)
	}
	p := one(t, nil, "x", granting(pipeline.Detail{}))
	for _, l := range []struct {
		c    httpmw.Config
		want []string
	}{
		{httpmw.Config{Identity: subject}, []string{"Subject is not set"}},
		{httpmw.Config{Status: map[string]int{"workershed": 500}}, []string{`Status["workershed"] must be 429 or 503, got 500`}},
		{httpmw.Config{Propagation: httpmw.Propagation{ClassHeader: "X_Class"}, CostHeader: "a b"}, []string{"Propagation.ClassHeader", "CostHeader"}},
		{httpmw.Config{Fields: 9, ExemptInFlight: -1}, []string{"Fields", "ExemptInFlight must be 1 or more"}},
	} {
		_, err := httpmw.New(l.c, p)
		for _, want := range l.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", l.c, err, want)
			}
		}
	}
	if _, err := httpmw.New(httpmw.Config{}, nil); err == nil {
		t.Error("no pipeline is accepted")
	}
}

// A faulty configuration changes nothing; a good one holds for the next request.
func TestSwap(t *testing.T) {
	o := newWitness()
	m := protect(t, httpmw.Config{Fields: httpmw.NoFields}, one(t, o, "workershed", refusing(pipeline.WorkerShed, pipeline.Detail{})))
	status := func() int {
		w := &statusWriter{discard: discard{http.Header{}}}
		m.Wrap(http.HandlerFunc(nothing)).ServeHTTP(w, newRequest("GET", "/"))
		return w.status
	}
	if err := m.Swap(httpmw.Config{Status: map[string]int{"workershed": 200}}); err == nil || status() != 503 {
		t.Errorf("%v, %d", err, status())
	}
	if err := m.Swap(httpmw.Config{Status: map[string]int{"workershed": 429}}); err != nil || status() != 429 {
		t.Errorf("%v, %d", err, status())
	}
}

type statusWriter struct {
	discard
	status int
}

func (w *statusWriter) WriteHeader(status int) { w.status = status }
