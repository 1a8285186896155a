package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// slow is a driver that takes its time, and then answers or fails.
type slow struct {
	store.Driver
	takes time.Duration
	err   error
}

func (s *slow) Claim(ctx context.Context, b *store.Batch) error {
	<-time.After(s.takes)
	if s.err != nil {
		return s.err
	}
	return s.Driver.Claim(ctx, b)
}

// A request knows how long it waited for a remote store, and forgets it with
// the next decision; a store in this process is not timed.
func TestARequestKnowsHowLongItWaited(t *testing.T) {
	for _, c := range []struct {
		name   string
		driver func(*counts) store.Driver
		want   pipeline.Waits
	}{
		{"answers", func(n *counts) store.Driver { return &slow{remote{n}, time.Millisecond, nil} }, pipeline.Waits{Store: int64(time.Millisecond)}},
		{"fails", func(n *counts) store.Driver { return &slow{remote{n}, time.Millisecond, errors.New("planted")} }, pipeline.Waits{Store: int64(time.Millisecond), Unanswered: true}},
		{"in this process", func(n *counts) store.Driver { return n }, pipeline.Waits{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stage := &sharer{claims: claimOf(tokens(t, "rate"))}
				p := build(t, c.driver(newCounts(nil)), nil, pipeline.Entry{Name: "rate", OnFault: pipeline.Open, Stage: stage})
				r := &pipeline.Request{Waits: pipeline.Waits{Store: 5, Queue: 7}}
				p.Acquire(t.Context(), r)
				if r.Waits != c.want {
					t.Errorf("it waited %+v, want %+v", r.Waits, c.want)
				}
				p.Release(r, pipeline.Result{})
			})
		})
	}
}
