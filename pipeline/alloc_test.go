package pipeline_test

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// quiet is a stage with the full contract that does nothing, so that what is
// counted is the pipeline's own.
func quiet(t testing.TB) []pipeline.Entry {
	return []pipeline.Entry{
		{Name: "rate", Stage: &fixedSharer{claims: claimOf(tokens(t, "rate"))(nil)}},
		{Name: "slots", Stage: &fixedSharer{claims: claimOf(slots(t, "slots"))(nil)}},
		{Name: "fleet", Stage: &quietTaker{}},
		{Name: "worker", Stage: &quietTaker{}},
	}
}

func TestNothingIsAllocated(t *testing.T) {
	ctx := t.Context()
	admit := build(t, &quietDriver{}, nil, quiet(t)...)
	refuse := build(t, &quietDriver{}, nil, append(quiet(t), pipeline.Entry{Name: "no", Stage: &quietTaker{refuse: true}})...)
	for name, p := range map[string]*pipeline.Pipeline{"admit": admit, "refuse": refuse} {
		r := &pipeline.Request{}
		if n := testing.AllocsPerRun(1000, func() {
			p.Acquire(ctx, r)
			p.Release(r, pipeline.Result{})
			r.Reset()
		}); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}
