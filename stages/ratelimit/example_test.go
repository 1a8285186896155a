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

// alone is a limiter by itself, on a store in this process's memory.
func alone(limits ...ratelimit.Limit) *ratelimit.Limiter {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		panic(err)
	}
	l, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{Limits: limits}, store.NewGuard(memory, store.GuardConfig{}))
	if err != nil {
		panic(err)
	}
	return l
}

// Take takes tokens of a key, or says when to come again.
func ExampleLimiter_Take() {
	l := alone(ratelimit.Limit{Name: "letters", Rate: limit.Per(3, time.Hour)})
	for range 2 {
		a, err := l.Take(context.Background(), "alice", 2)
		fmt.Println(a.Allowed, a.Remaining, a.RetryAfter.Round(time.Minute), err)
	}
	// Output:
	// true 1 0s <nil>
	// false 1 20m0s <nil>
}

// Peek answers without taking; a cost of 0 asks what is left.
func ExampleLimiter_Peek() {
	l := alone(ratelimit.Limit{Name: "letters", Rate: limit.Per(3, time.Hour)})
	for range 2 {
		a, _ := l.Peek(context.Background(), "alice", 1)
		fmt.Println(a.Allowed, a.Remaining)
	}
	// Output:
	// true 2
	// true 2
}

// TakeMany asks for several keys in one call, each by itself.
func ExampleLimiter_TakeMany() {
	l := alone(ratelimit.Limit{Name: "letters", Rate: limit.Per(3, time.Hour)})
	answers, err := l.TakeMany(context.Background(), []ratelimit.Want{{Key: "alice", Cost: 2}, {Key: "bob", Cost: 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range answers {
		fmt.Println(a.Allowed, a.RetryAfter == store.Never)
	}
	// Output:
	// true false
	// false true
}

// Wait stands in line until the tokens are there, or the context would end.
func ExampleLimiter_Wait() {
	l := alone(ratelimit.Limit{Name: "gateway", Rate: limit.Per(1000, time.Second), Burst: 1})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 3 {
		if err := l.Wait(ctx, "payments", 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("three calls, a millisecond apart")
	// Output:
	// three calls, a millisecond apart
}

// Refund gives back what was not used, Charge takes what was used beyond it,
// and Reset forgets the key.
func ExampleLimiter_Refund() {
	ctx, l := context.Background(), alone(ratelimit.Limit{Name: "tokens", Rate: limit.Per(100, 24*time.Hour)})
	left := func() int64 {
		a, _ := l.Peek(ctx, "alice", 0)
		return a.Remaining
	}
	if _, err := l.Take(ctx, "alice", 60); err != nil {
		fmt.Println(err)
		return
	}
	l.Refund(ctx, "alice", 20)
	fmt.Println(left())
	l.Charge(ctx, "alice", 30)
	fmt.Println(left())
	l.Reset(ctx, "alice")
	fmt.Println(left())
	// Output:
	// 60
	// 30
	// 100
}

// SetLimits changes the limits of keys that are in use: what was spent stays
// spent.
func ExampleLimiter_SetLimits() {
	ctx, l := context.Background(), alone(ratelimit.Limit{Name: "letters", Rate: limit.Per(3, time.Hour)})
	if _, err := l.Take(ctx, "alice", 3); err != nil {
		fmt.Println(err)
		return
	}
	err := l.SetLimits(
		ratelimit.Limit{Name: "letters", Rate: limit.Per(10, time.Hour)},
		ratelimit.Limit{Name: "monthly", Rate: limit.Per(5, 0), Calendar: limit.Calendar{Unit: limit.Month}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := l.Take(ctx, "alice", 1)
	fmt.Println(a.Allowed, a.Remaining, a.Limit)
	// Output:
	// true 4 monthly
}
