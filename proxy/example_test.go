package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/plimsoll-go/plimsoll/proxy"
)

// A proxy in front of a service, behind a middleware that decides.
func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s for %s, class %s", r.RequestURI, r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Class"))
	}))
	defer service.Close()
	forward, err := proxy.New(proxy.Config{
		Upstream:       service.URL,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Reserved:       []string{"X-Class"},
		Rewrite:        func(out, _ *http.Request) { out.Header.Set("X-Class", "high") },
	})
	if err != nil {
		panic(err)
	}
	decide := func(next http.Handler) http.Handler { return next } // a middleware of the pipeline goes here

	ready := make(chan struct{})
	server, err := proxy.NewServer(proxy.ServerConfig{Ready: func() { close(ready) }}, decide(forward))
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, listener) }()
	<-ready

	request, _ := http.NewRequest(http.MethodGet, "http://"+listener.Addr().String()+"/a/../b?c;d", nil)
	request.Host = "api.example"
	request.Header.Set("X-Class", "critical") // is not the client's to say
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	fmt.Println(string(body))
	stop()
	fmt.Println("drained:", <-ended)
	// Output:
	// /a/../b?c;d for api.example, class high
	// drained: <nil>
}

// What went wrong, for a metrics endpoint.
func ExampleProxy_Failures() {
	forward, err := proxy.New(proxy.Config{Upstream: "http://127.0.0.1:1"})
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Print(answer.Body)
	for failure, count := range forward.Failures() {
		if count > 0 {
			fmt.Println(failure, count)
		}
	}
	// Output:
	// {"type":"about:blank","title":"Bad Gateway","status":502,"detail":"The service cannot be reached."}
	// unreachable 1
}
