package concurrency_test

import (
	"context"
	"fmt"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// A caller may have two requests in flight. A third is refused until one of
// them has ended.
func Example() {
	caller, err := pipeline.ParseOwner("caller")
	if err != nil {
		fmt.Println(err)
		return
	}
	stage, err := concurrency.New(concurrency.Config{Limits: []concurrency.Limit{
		{Name: "per-caller", Key: caller, Max: 2},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := newPipeline(stage)
	if err != nil {
		fmt.Println(err)
		return
	}
	first, second, third := fromAcme(), fromAcme(), fromAcme()
	for _, r := range []*pipeline.Request{first, second, third} {
		fmt.Println(answer(p.Acquire(context.Background(), r)))
	}
	p.Release(first, pipeline.Result{})
	fmt.Println(answer(p.Acquire(context.Background(), third)))
	// Output:
	// admitted
	// admitted
	// too-many-in-flight
	// admitted
}

func fromAcme() *pipeline.Request {
	return &pipeline.Request{Caller: pipeline.Caller{ID: store.KeyOf("acme"), Name: "acme"}}
}

func answer(d pipeline.Decision) string {
	if d.Verdict == pipeline.Admit {
		return "admitted"
	}
	return d.Reason.String()
}

func newPipeline(stage pipeline.Stage) (*pipeline.Pipeline, error) {
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "concurrency", Stage: stage})
	if err != nil {
		return nil, err
	}
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	return pipeline.New(pipeline.Config{Plan: plan, Store: store.NewGuard(memory, store.GuardConfig{})})
}
