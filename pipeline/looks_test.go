package pipeline_test

import (
	"slices"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
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
