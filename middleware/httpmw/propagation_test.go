package httpmw_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// within runs a function as the handler of an admitted request.
func within(t testing.TB, c httpmw.Config, r *http.Request, f func(*http.Request)) {
	t.Helper()
	m := protect(t, c, one(t, nil, "x", granting(pipeline.Detail{})))
	m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { f(r) })).ServeHTTP(discard{http.Header{}}, r)
}

// sent is a RoundTripper that keeps the request.
type sent struct{ request *http.Request }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.request = r
	return &http.Response{Body: http.NoBody}, nil
}

var travelling = httpmw.Config{Propagation: httpmw.Propagation{ClassHeader: priority.Header, TimeoutHeader: "X-Request-Timeout"}}

func TestForwardCarriesClassAndTime(t *testing.T) {
	c := travelling
	c.Rules = chargesAreCritical(t)
	r := newRequest("GET", "/batch/1")
	r.Header.Set(priority.Header, "critical")
	r.Header.Set("X-Request-Timeout", "5000")
	within(t, c, r, func(in *http.Request) {
		out := in.Header.Clone()
		out.Set("X-Request-Timeout", "9000")
		httpmw.Forward(in.Context(), out)
		if got := out.Get(priority.Header); got != "low" {
			t.Errorf("class %q", got)
		}
		if ms, err := strconv.Atoi(out.Get("X-Request-Timeout")); err != nil || ms > 5000 || ms < 1000 {
			t.Errorf("timeout %q", out.Get("X-Request-Timeout"))
		}
	})
	out := http.Header{}
	if httpmw.Forward(t.Context(), out); len(out) != 0 {
		t.Errorf("a context of nobody's: %v", out)
	}
}

func TestTransport(t *testing.T) {
	r := newRequest("GET", "/")
	r.Header.Set(priority.Header, "low")
	within(t, travelling, r, func(in *http.Request) {
		s := &sent{}
		ctx, cancel := context.WithTimeout(in.Context(), time.Minute)
		defer cancel()
		out, err := http.NewRequestWithContext(ctx, "GET", "http://next", nil)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &httpmw.Transport{Base: s}}
		if _, err := client.Do(out); err != nil {
			t.Fatal(err)
		}
		if got := s.request.Header.Get(priority.Header); got != "low" {
			t.Errorf("class %q", got)
		}
		if ms, err := strconv.Atoi(s.request.Header.Get("X-Request-Timeout")); err != nil || ms > 60000 || ms < 30000 {
			t.Errorf("timeout %q", s.request.Header.Get("X-Request-Timeout"))
		}
		if len(out.Header) != 0 {
			t.Errorf("the caller's request was changed: %v", out.Header)
		}

		other := &httpmw.Transport{Base: s, Propagation: &httpmw.Propagation{
			ClassHeader: "x-class", Scheme: priority.Google, TimeoutHeader: "grpc-timeout",
		}}
		if _, err := other.RoundTrip(&http.Request{URL: out.URL, Method: "GET"}); err != nil {
			t.Fatal(err)
		}
		if len(s.request.Header) != 0 {
			t.Errorf("a request of nobody's was changed: %v", s.request.Header)
		}
		if _, err := other.RoundTrip((&http.Request{URL: out.URL, Method: "GET"}).WithContext(ctx)); err != nil {
			t.Fatal(err)
		}
		if got := s.request.Header; got.Get("X-Class") != "SHEDDABLE" || got.Get("Grpc-Timeout") == "" {
			t.Errorf("other names: %v", got)
		}
	})
}

// A handler may lower what it asks of others, not raise it.
func TestOutgoingClassesOnlyFall(t *testing.T) {
	within(t, travelling, newRequest("GET", "/"), func(in *http.Request) {
		for set, want := range map[string]string{"low": "low", "critical": "normal", "nonsense": "normal"} {
			out := http.Header{}
			out.Set(priority.Header, set)
			if httpmw.Forward(in.Context(), out); out.Get(priority.Header) != want {
				t.Errorf("%s goes out as %s, want %s", set, out.Get(priority.Header), want)
			}
		}
	})
}

// Work that outlives its request goes on under the class of its own request,
// whoever uses the pooled one meanwhile.
func TestPropagationOutlivesTheRequest(t *testing.T) {
	r := newRequest("GET", "/")
	r.Header.Set(priority.Header, "low")
	m := protect(t, travelling, one(t, nil, "x", granting(pipeline.Detail{})))
	var kept context.Context
	m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		kept = context.WithoutCancel(r.Context())
	})).ServeHTTP(discard{http.Header{}}, r)
	for range 10 {
		m.Wrap(http.HandlerFunc(nothing)).ServeHTTP(discard{http.Header{}}, newRequest("GET", "/"))
	}
	out := http.Header{}
	if httpmw.Forward(kept, out); out.Get(priority.Header) != "low" {
		t.Errorf("class %q", out.Get(priority.Header))
	}
	if q := pipeline.FromContext(kept); q != nil {
		t.Errorf("the request is still reachable: %p", q)
	}
}
