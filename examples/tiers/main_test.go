package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// limited runs a test of the API in virtual time, which stands still.
func limited(t *testing.T, test func(*testing.T, http.Handler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		handler, err := api(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		test(t, handler)
	})
}

// told is the status, and what the answer says of limits.
func told(r *http.Response) string {
	return strings.TrimSpace(fmt.Sprint(r.StatusCode, " ", r.Header.Get("RateLimit"), " ", r.Header.Get("Retry-After")))
}

func TestTheTightestLimitIsShown(t *testing.T) {
	limited(t, func(t *testing.T, handler http.Handler) {
		for _, c := range []struct{ account, address, path, want string }{
			{"acme", "192.0.2.1", "/v1/items", `200 "per-account";r=39;t=1`},
			{"acme", "192.0.2.1", "/v1/search", `200 "per-account";r=34;t=6`},
			{"acme", "192.0.2.2", "/v1/export", `200 "per-account";r=14;t=26`},
			{"acme", "192.0.2.2", "/v1/export", `429 "per-account";r=14;t=6 6`},
			{"globex", "192.0.2.2", "/v1/export", `200 "per-address";r=20;t=20`},
		} {
			if got := told(ask(handler, c.account, c.address, c.path)); got != c.want {
				t.Errorf("%s %s: %s, want %s", c.account, c.path, got, c.want)
			}
		}
	})
}

// A request that one limit refuses costs nothing under the others.
func TestAllOrNone(t *testing.T) {
	limited(t, func(t *testing.T, handler http.Handler) {
		for range 2 {
			ask(handler, "acme", "192.0.2.1", "/v1/export")
		}
		for range 1000 { // acme has nothing left
			if r := ask(handler, "acme", "192.0.2.9", "/v1/search"); r.StatusCode != http.StatusTooManyRequests {
				t.Fatalf("got %s", told(r))
			}
		}
		for i, want := range []string{`200 "per-account";r=20;t=20`, `200 "per-address";r=20;t=20`, `200 "per-address";r=0;t=30`} {
			if got := told(ask(handler, fmt.Sprint("other", i), "192.0.2.9", "/v1/export")); got != want {
				t.Errorf("account %d from the same address: %s, want %s", i, got, want)
			}
		}
	})
}

// However many accounts and addresses there are, all together have one limit.
func TestEverybodyTogether(t *testing.T) {
	limited(t, func(t *testing.T, handler http.Handler) {
		served := 0
		var last *http.Response
		for i := range 20 {
			if last = ask(handler, fmt.Sprint("account", i), fmt.Sprint("192.0.2.", i), "/v1/export"); last.StatusCode == http.StatusOK {
				served++
			}
		}
		if served != 10 || !strings.HasPrefix(told(last), `429 "everybody"`) {
			t.Errorf("%d exports were served, then %s", served, told(last))
		}
	})
}

func TestOverAConnection(t *testing.T) {
	handler, err := api(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	r, err := http.Get(server.URL + "/v1/search")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || string(body) != "done: /v1/search\n" || !strings.Contains(r.Header.Get("RateLimit-Policy"), `"per-account";q=40`) {
		t.Errorf("got %q, %v, policy %s", body, err, r.Header.Get("RateLimit-Policy"))
	}
}

func TestTheDemonstrationMeetsEachLimit(t *testing.T) {
	limited(t, func(t *testing.T, _ http.Handler) {
		var out strings.Builder
		if err := demonstrate(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		for _, limit := range []string{"per-account", "per-address", "everybody"} {
			if !strings.Contains(out.String(), `429     RateLimit: "`+limit) {
				t.Errorf("nobody is refused by %s:\n%s", limit, &out)
			}
		}
	})
}
