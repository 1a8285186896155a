package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestEachGroupIsProtectedAndServed(t *testing.T) {
	router, err := routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path, policy string }{
		{"POST", "/payments/charges", `"payments-per-caller";q=500;w=5`},
		{"GET", "/reports/daily", ""},
	} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != http.StatusOK || w.Body.String() != c.method+" "+c.path+"\n" || w.Header().Get("RateLimit-Policy") != c.policy {
			t.Errorf("%s %s: %d %q with policy %q, want %q", c.method, c.path, w.Code, w.Body, w.Header().Get("RateLimit-Policy"), c.policy)
		}
	}
}
