package workershed_test

import (
	"context"
	"fmt"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
)

// A worker with room for five requests keeps a fifth of it for critical ones.
func Example() {
	state := workershed.NewState()
	stage, err := workershed.New(workershed.Config{MaxInFlight: 5, QueuePerClass: workershed.NoQueue}, state)
	if err != nil {
		panic(err)
	}
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "worker", Stage: stage})
	if err != nil {
		panic(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan})
	if err != nil {
		panic(err)
	}
	for range 5 { // none of them ends
		r := &pipeline.Request{Class: priority.High}
		tell(r.Class, p.Acquire(context.Background(), r))
	}
	r := &pipeline.Request{Class: priority.Critical}
	tell(r.Class, p.Acquire(context.Background(), r))
	fmt.Println(state.Snapshot().InFlight)
	// Output:
	// high: admitted
	// high: admitted
	// high: admitted
	// high: admitted
	// high: worker-shed
	// critical: admitted
	// [0 0 4 1]
}

func tell(class priority.Class, d pipeline.Decision) {
	if d.Verdict == pipeline.Admit {
		fmt.Printf("%s: admitted\n", class)
		return
	}
	fmt.Printf("%s: %s\n", class, d.Reason)
}
