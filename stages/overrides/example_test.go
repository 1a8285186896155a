package overrides_test

import (
	"context"
	"fmt"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/overrides"
)

// An operator sheds everything below high, and leaves one caller alone.
func Example() {
	stage, err := overrides.New(overrides.Config{
		Sheds:  []overrides.Shed{{Rule: "ov-1", Below: priority.High, Percent: 100}},
		Exempt: []string{"friend"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "overrides", Stage: stage})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range []*pipeline.Request{
		{Class: priority.Normal},
		{Class: priority.High},
		{Class: priority.Normal, Caller: pipeline.Caller{Name: "friend"}},
	} {
		if d := p.Acquire(context.Background(), r); d.Verdict == pipeline.Admit {
			fmt.Println(r.Class, "admitted")
		} else {
			fmt.Println(r.Class, d.Reason)
		}
	}
	// Output:
	// normal operator-shed
	// high admitted
	// normal admitted
}
