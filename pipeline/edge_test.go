package pipeline_test

import (
	"context"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// own is a context of an edge that answers for the pipeline.
type own struct {
	context.Context
	request *pipeline.Request
}

func (c own) Value(key any) any {
	if pipeline.IsContextKey(key) {
		return c.request
	}
	return c.Context.Value(key)
}

func TestAnEdgeMayAnswerForTheContext(t *testing.T) {
	r := &pipeline.Request{Cost: 7}
	if got := pipeline.FromContext(own{t.Context(), r}); got != r {
		t.Errorf("got %v", got)
	}
	if got := pipeline.FromContext(own{pipeline.NewContext(t.Context(), r), nil}); got != nil {
		t.Errorf("a request that has ended: got %v", got)
	}
	if pipeline.IsContextKey(context.Canceled) {
		t.Error("some other key is taken for the pipeline's")
	}
}

// The entry behind a decision is that of the plan which decided, whatever plan
// is current since.
func TestADecisionKnowsItsEntry(t *testing.T) {
	r := &pipeline.Request{}
	if e := r.Entry(pipeline.Decision{}); e.Name != "" {
		t.Errorf("before Acquire: %+v", e)
	}
	refusing := &looker{look: func(*pipeline.Request) pipeline.Decision { return pipeline.Refuse(pipeline.WorkerShed) }}
	plan, err := pipeline.NewPlan(
		pipeline.Entry{Name: "a", Stage: &looker{}},
		pipeline.Entry{Name: "b", Kind: "workershed", Stage: refusing},
	)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	d := p.Acquire(t.Context(), r)
	other, err := pipeline.NewPlan(pipeline.Entry{Name: "c", Stage: &looker{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Swap(other); err != nil {
		t.Fatal(err)
	}
	if e := r.Entry(d); e.Name != "b" || e.Kind != "workershed" {
		t.Errorf("%+v", e)
	}
}
