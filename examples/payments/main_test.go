package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const money = `{"amount": 4200, "currency": "eur"}`

// started serves until the test ends, and returns the URL.
func started(t *testing.T, protect func(context.Context, http.Handler) (http.Handler, error)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, l, protect) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve returned %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// charge sends one and returns the status and who refused it.
func charge(t *testing.T, url string) (status int, decision string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/charges", strings.NewReader(money))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", "mk_1")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode, response.Header.Get("Plimsoll-Decision")
}

func TestAChargeGoesThrough(t *testing.T) {
	if status, decision := charge(t, started(t, protected)); status != http.StatusCreated || decision != "" {
		t.Errorf("answered %d, %s", status, decision)
	}
}

// One caller may have 20 charges in flight; the next hears so, and who said it.
func TestOneCallerCannotTakeAllConnections(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	held, err := protected(t.Context(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	}))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(held)
	defer server.Close()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { charge(t, server.URL) })
		<-entered
	}
	status, decision := charge(t, server.URL)
	if status != http.StatusTooManyRequests || !strings.Contains(decision, "stage=concurrency") || !strings.Contains(decision, "class=critical") {
		t.Errorf("the 21st charge is answered %d, %s", status, decision)
	}
	close(leave)
	group.Wait()
}

func TestWithoutProtectionItServesAsWell(t *testing.T) {
	if status, _ := charge(t, started(t, unprotected)); status != http.StatusCreated {
		t.Errorf("answered %d", status)
	}
}
