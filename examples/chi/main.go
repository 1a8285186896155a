// Command chi gives each group of a chi router a pipeline of its own: what
// floods the reports leaves the payments alone.
//
//	go run ./examples/chi
//	curl -i -X POST localhost:8080/payments/charges
//	curl -i localhost:8080/reports/daily
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/plimsoll-go/plimsoll/config"
)

// payments and reports are what a configuration file would hold.
const (
	payments = `
version: 1
priority:
  rules: [{class: critical, match: {method: POST}}]
stages:
  - stage: ratelimit
    limits: [{name: payments-per-caller, key: [caller], rate: 100/s, burst: 500}]
  - stage: workershed
    max_in_flight: 100
`
	reports = `
version: 1
priority:
  default: low
stages:
  - stage: concurrency
    limits: [{name: reports-per-caller, key: [caller], max: 2}]
  - stage: workershed
    max_in_flight: 5
`
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	router, err := routes(ctx)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: "localhost:8080", Handler: router, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func routes(ctx context.Context) (http.Handler, error) {
	router := chi.NewRouter()
	for prefix, text := range map[string]string{"/payments": payments, "/reports": reports} {
		file, err := config.Parse(prefix, []byte(text))
		if err != nil {
			return nil, err
		}
		protection, err := config.Protect(file, config.ProtectConfig{})
		if err != nil {
			return nil, err
		}
		go protection.Run(ctx)
		router.Route(prefix, func(group chi.Router) {
			group.Use(protection.Wrap)
			group.HandleFunc("/*", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.Method, r.URL.Path) })
		})
	}
	return router, nil
}
