package httpmw_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// lowIsShed stands for the stages of a real plan.
type lowIsShed struct{}

func (lowIsShed) Look(r *pipeline.Request) pipeline.Decision {
	if r.Class == priority.Low {
		return pipeline.Refuse(pipeline.WorkerShed)
	}
	return pipeline.Decision{}
}

func Example() {
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "workershed", Stage: lowIsShed{}})
	if err != nil {
		log.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan})
	if err != nil {
		log.Fatal(err)
	}
	who, err := identity.New(identity.Config{Sources: []string{"header:X-Api-Key", "address"}})
	if err != nil {
		log.Fatal(err)
	}
	routes, err := match.NewTable("/v1/charges", "/reports/")
	if err != nil {
		log.Fatal(err)
	}
	rules, err := priority.NewRules(routes, priority.Normal,
		priority.Rule{Class: priority.Critical, Match: match.Rule{Methods: []string{"POST"}, Path: "/v1/charges"}},
		priority.Rule{Class: priority.Low, Match: match.Rule{Path: "/reports/"}},
	)
	if err != nil {
		log.Fatal(err)
	}
	protect, err := httpmw.New(httpmw.Config{Identity: who, Rules: rules}, p)
	if err != nil {
		log.Fatal(err)
	}
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })

	server := httptest.NewServer(protect.Wrap(service))
	defer server.Close()
	for _, path := range []string{"/v1/charges", "/reports/2026"} {
		resp, err := http.Get(server.URL + path)
		if err != nil {
			log.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		fmt.Printf("%s: %d, retry after %q\n", path, resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	// Output:
	// /v1/charges: 200, retry after ""
	// /reports/2026: 503, retry after "1"
}

// A reverse proxy passes on the class that holds, not the one that was claimed.
func ExampleForward() {
	_ = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			httpmw.Forward(r.In.Context(), r.Out.Header)
		},
	}
}

// Requests that a handler makes carry its class and the time it has left, when
// they are made with its context.
func ExampleTransport() {
	client := &http.Client{Transport: &httpmw.Transport{}}
	_ = func(_ http.ResponseWriter, r *http.Request) {
		next, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://inventory/items", nil)
		if err != nil {
			return
		}
		resp, err := client.Do(next)
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}
