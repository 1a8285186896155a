package telemetry_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// A pipeline with both exporters.
func Example() {
	observer, err := telemetry.New(telemetry.Config{})
	if err != nil {
		panic(err)
	}
	plan, err := pipeline.NewPlan() // admits everything
	if err != nil {
		panic(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: observer})
	if err != nil {
		panic(err)
	}
	observer.Follow(p) // for its clock, its plan and what is in flight

	registry := prometheus.NewRegistry() // serve it with promhttp.HandlerFor
	registry.MustRegister(observer)

	reader := sdk.NewManualReader(sdk.WithProducer(observer)) // the histograms
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	registration, err := observer.RegisterOTel(provider.Meter(telemetry.Scope)) // the rest
	if err != nil {
		panic(err)
	}
	defer registration.Unregister()

	r := &pipeline.Request{}
	if p.Acquire(context.Background(), r).Verdict == pipeline.Admit {
		p.Release(r, pipeline.Result{})
	}
	for _, point := range observer.Points(telemetry.Requests) {
		if point.Value > 0 {
			fmt.Println(point.Labels, point.Value)
		}
	}
	// Output: [normal admitted] 1
}
