package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// Two limits on one request: three a minute for each caller, and one an hour
// of the expensive report. A refusal by one charges neither.
func Example() {
	caller, err := pipeline.ParseOwner("caller")
	if err != nil {
		fmt.Println(err)
		return
	}
	stage, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{
		{Name: "per-caller", Key: caller, Rate: limit.Per(3, time.Minute)},
		{Name: "reports", Key: caller, Rate: limit.Per(1, time.Hour), Match: match.Rule{Path: "/report"}},
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
	for _, path := range []string{"/report", "/report", "/a", "/b", "/c"} {
		r := &pipeline.Request{
			Subject: match.Subject{Method: "GET", Path: path},
			Caller:  pipeline.Caller{ID: store.KeyOf("acme"), Name: "acme"},
		}
		if d := p.Acquire(context.Background(), r); d.Verdict != pipeline.Admit {
			fmt.Printf("%s: %s by %s\n", path, d.Reason, r.Detail.Rule)
			continue
		}
		fmt.Printf("%s: admitted, %d left of %s\n", path, r.Detail.Remaining, r.Detail.Rule)
		p.Release(r, pipeline.Result{})
	}
	// Output:
	// /report: admitted, 0 left of reports
	// /report: rate-limited by reports
	// /a: admitted, 1 left of per-caller
	// /b: admitted, 0 left of per-caller
	// /c: rate-limited by per-caller
}

func newPipeline(stage pipeline.Stage) (*pipeline.Pipeline, error) {
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "ratelimit", Stage: stage})
	if err != nil {
		return nil, err
	}
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	return pipeline.New(pipeline.Config{Plan: plan, Store: store.NewGuard(memory, store.GuardConfig{})})
}
