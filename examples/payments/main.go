// Command payments is a sample payments API, protected by a file of settings
// that lies beside it: charges before refunds, refunds before reads, and tests
// last.
//
//	go run ./examples/payments
//	curl -i -d '{"amount": 4200, "currency": "eur"}' localhost:8080/v1/charges
//
// With -bare it runs without protection.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/examples/payments/service"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

//go:embed plimsoll.yaml
var settings []byte

func main() {
	listen := flag.String("listen", "localhost:8080", "address to serve")
	bare := flag.Bool("bare", false, "serve without protection")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	var protect = protected
	if *bare {
		protect = unprotected
	}
	if err := serve(ctx, l, protect); err != nil {
		log.Fatal(err)
	}
}

// serve runs the service behind a protection, until the context ends.
func serve(ctx context.Context, l net.Listener, protect func(context.Context, http.Handler) (http.Handler, error)) error {
	payments, err := service.New(service.Config{})
	if err != nil {
		return err
	}
	defer payments.Close()
	handler, err := protect(ctx, payments)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// protected puts the stages of the settings around a handler.
func protected(ctx context.Context, handler http.Handler) (http.Handler, error) {
	file, err := config.Parse("plimsoll.yaml", settings)
	if err != nil {
		return nil, err
	}
	built, err := config.Build(file, nil)
	if err != nil {
		return nil, err
	}
	p, err := pipeline.New(pipeline.Config{
		Plan: built.Plan, Store: built.Live.Guard(), Logger: slog.Default(),
		Parallel: []func(context.Context) error{built.Live.Run},
	})
	if err != nil {
		return nil, err
	}
	edge, err := httpmw.New(built.Middleware, p)
	if err != nil {
		return nil, err
	}
	built.Adopt()
	go p.Run(ctx) // limits adapt, leases are renewed
	return edge.Wrap(handler), nil
}

func unprotected(_ context.Context, handler http.Handler) (http.Handler, error) { return handler, nil }
