package fleetshed_test

import (
	"context"
	"fmt"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
)

// A worker that can carry ten requests at once and is alone, as far as it
// knows, keeps two places for critical traffic.
func Example() {
	stage, err := fleetshed.New(fleetshed.Config{
		Capacity: func() float64 { return 10 },
	}, &fleetshed.State{})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "fleet", Kind: "fleetshed", Stage: stage})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, class := range []priority.Class{priority.Low, priority.Normal, priority.High, priority.Critical} {
		admitted := 0
		for range 10 {
			r := &pipeline.Request{Class: class} // never released: all of them stay in flight
			if p.Acquire(context.Background(), r).Verdict == pipeline.Admit {
				admitted++
			}
		}
		fmt.Printf("%s: %d of 10\n", class, admitted)
	}
	// Output:
	// low: 7 of 10
	// normal: 0 of 10
	// high: 1 of 10
	// critical: 10 of 10
}
