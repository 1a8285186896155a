// Command tiers puts three limits on each request: everybody's together, its
// address's, and its account's. A request must pass all of them, and one that
// a limit refuses costs nothing under the others. Expensive routes cost more.
//
//	go run ./examples/tiers
//	curl -i -H 'X-Api-Key: acme' localhost:8080/v1/search
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
)

//go:embed plimsoll.yaml
var settings []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demonstrate(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, "localhost:8080"); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, address string) error {
	handler, err := api(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Printf("\nServing on http://%s; try\n  curl -i -H 'X-Api-Key: acme' http://%s/v1/search\n", address, address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// api is a handler behind the limits of the file beside this one.
func api(ctx context.Context) (http.Handler, error) {
	file, err := config.Parse("plimsoll.yaml", settings)
	if err != nil {
		return nil, err
	}
	protection, err := config.Protect(file, config.ProtectConfig{})
	if err != nil {
		return nil, err
	}
	go protection.Run(ctx)
	return protection.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "done:", r.URL.Path)
	})), nil
}

// ask sends a request of an account, from an address.
func ask(handler http.Handler, account, address, path string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = address + ":4711"
	r.Header.Set("X-Api-Key", account)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result()
}

// demonstrate shows what a client sees of its tightest limit.
func demonstrate(ctx context.Context, out io.Writer) error {
	handler, err := api(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "account  address      route       status  what the client is told: r is left, for the next t seconds")
	for _, c := range story() {
		r := ask(handler, c.account, c.address, c.path)
		told := "RateLimit: " + r.Header.Get("RateLimit")
		if wait := r.Header.Get("Retry-After"); wait != "" {
			told += "  Retry-After: " + wait
		}
		fmt.Fprintf(out, "%-8s %-12s %-11s %-7d %s\n", c.account, c.address, c.path, r.StatusCode, told)
	}
	return nil
}

// request is one line of the demonstration.
type request struct{ account, address, path string }

// story meets each of the limits: first the account's, then the address's,
// and in the end everybody's.
func story() []request {
	list := []request{
		{"acme", "192.0.2.1", "/v1/items"},
		{"acme", "192.0.2.1", "/v1/search"},
		{"acme", "192.0.2.2", "/v1/export"},
		{"acme", "192.0.2.2", "/v1/export"},
		{"acme", "192.0.2.2", "/v1/items"},
		{"globex", "192.0.2.2", "/v1/export"},
		{"initech", "192.0.2.2", "/v1/export"},
		{"initech", "192.0.2.3", "/v1/export"},
	}
	for i := range 7 {
		list = append(list, request{fmt.Sprint("guest", i), fmt.Sprint("198.51.100.", i), "/v1/export"})
	}
	return list
}
