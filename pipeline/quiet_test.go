package pipeline_test

import (
	"context"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// quietTaker, fixedSharer and quietDriver do their part without allocating.
type quietTaker struct{ refuse bool }

func (s *quietTaker) Look(*pipeline.Request) pipeline.Decision { return pipeline.Decision{} }

func (s *quietTaker) Take(context.Context, *pipeline.Request) pipeline.Decision {
	if s.refuse {
		return pipeline.Refuse(pipeline.WorkerShed)
	}
	return pipeline.Decision{Permit: 1}
}

func (s *quietTaker) Release(*pipeline.Request, pipeline.Permit, pipeline.Result) {}

type fixedSharer struct{ claims []store.Claim }

func (s *fixedSharer) Look(*pipeline.Request) pipeline.Decision { return pipeline.Decision{} }

func (s *fixedSharer) Claims(_ *pipeline.Request, claims []store.Claim) []store.Claim {
	return append(claims, s.claims...)
}

type quietDriver struct{}

func (*quietDriver) Claim(_ context.Context, b *store.Batch) error {
	for i := range b.Grants {
		b.Grants[i].OK = true
	}
	return nil
}

func (*quietDriver) Return(context.Context, []store.Return) error           { return nil }
func (*quietDriver) Renew(context.Context, []store.Return) error            { return nil }
func (*quietDriver) Sync(context.Context, store.Report) (store.View, error) { return store.View{}, nil }
func (*quietDriver) InProcess()                                             {}
