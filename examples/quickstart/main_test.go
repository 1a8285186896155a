package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
)

func TestTheEleventhRequestOfACallerIsRefused(t *testing.T) {
	p, err := protection()
	if err != nil {
		t.Fatal(err)
	}
	edge, err := httpmw.New(httpmw.Config{}, p)
	if err != nil {
		t.Fatal(err)
	}
	handler := edge.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	served := 0
	var last *httptest.ResponseRecorder
	for range 11 {
		last = httptest.NewRecorder()
		handler.ServeHTTP(last, httptest.NewRequest("GET", "/", nil))
		if last.Code == http.StatusOK {
			served++
		}
	}
	if served != 10 || last.Code != http.StatusTooManyRequests || last.Header().Get("Retry-After") == "" {
		t.Errorf("served %d, then %d with Retry-After %q; want 10, then 429 with one", served, last.Code, last.Header().Get("Retry-After"))
	}
}
