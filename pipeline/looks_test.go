package pipeline_test

import (
	"slices"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// shy is a sharer whose look has nothing to say.
type shy struct{ sharer }

func (shy) Looks() bool { return false }

func TestWhoHasNothingToSayIsNotAsked(t *testing.T) {
	for _, denied := range []bool{false, true} {
		tr := &trace{}
		p := build(t, newCounts(tr), nil, pipeline.Entry{Name: "rate", Stage: &shy{sharer{looker{name: "rate", trace: tr}, claimOf(tokens(t, "rate"))}}})
		r := &pipeline.Request{}
		if denied {
			r.Now = somethingDenied(t, p)
			tr.calls = nil
		}
		p.Acquire(t.Context(), r)
		if want := []string{"claims rate", "store"}; !slices.Equal(tr.calls, want) {
			t.Errorf("the walk was %q, want %q", tr.calls, want)
		}
	}
}

func TestWhoIsSwitchedOffIsNotAskedForClaims(t *testing.T) {
	asked := 0
	p := build(t, newCounts(nil), nil, pipeline.Entry{Name: "rate", Stage: &sharer{looker{}, func(*pipeline.Request) []store.Claim {
		asked++
		panic("planted panic")
	}}})
	for range 100 {
		r := &pipeline.Request{}
		if d := p.Acquire(t.Context(), r); d.Verdict != pipeline.Admit {
			t.Fatalf("got %+v", d)
		}
		p.Release(r, pipeline.Result{})
	}
	if asked >= 50 {
		t.Errorf("an entry that panics was asked %d times of 100", asked)
	}
}
