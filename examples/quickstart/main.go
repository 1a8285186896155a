// Command quickstart puts four stages around a handler, in Go.
//
//	go run ./examples/quickstart
//	curl -i localhost:8080/
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

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, "localhost:8080"); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, address string) error {
	p, err := protection()
	if err != nil {
		return err
	}
	go p.Run(ctx) // limits adapt, leases are renewed

	edge, err := httpmw.New(httpmw.Config{}, p)
	if err != nil {
		return err
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	server := &http.Server{Addr: address, Handler: edge.Wrap(hello), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// protection is the four stages on a store in memory.
func protection() (*pipeline.Pipeline, error) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	perCaller, err := pipeline.ParseOwner("caller")
	if err != nil {
		return nil, err
	}
	rate, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{
		{Name: "per-caller", Key: perCaller, Rate: limit.Per(5, time.Second), Burst: 10},
	}}, nil)
	if err != nil {
		return nil, err
	}
	slots, err := concurrency.New(concurrency.Config{Limits: []concurrency.Limit{
		{Name: "per-caller", Key: perCaller, Max: 20},
	}}, nil)
	if err != nil {
		return nil, err
	}
	fleet, err := fleetshed.New(fleetshed.Config{Capacity: func() float64 { return 200 }}, nil)
	if err != nil {
		return nil, err
	}
	worker, err := workershed.New(workershed.Config{MaxInFlight: 200}, nil)
	if err != nil {
		return nil, err
	}
	plan, err := pipeline.NewPlan(
		pipeline.Entry{Name: "ratelimit", Stage: rate},
		pipeline.Entry{Name: "concurrency", Stage: slots},
		pipeline.Entry{Name: "fleetshed", Stage: fleet},
		pipeline.Entry{Name: "workershed", Stage: worker},
	)
	if err != nil {
		return nil, err
	}
	return pipeline.New(pipeline.Config{Plan: plan, Store: store.NewGuard(memory, store.GuardConfig{Local: memory})})
}
