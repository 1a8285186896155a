package pipeline_test

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// BenchmarkWalk is the pipeline's own cost: four stages that do nothing.
func BenchmarkWalk(b *testing.B) {
	p := build(b, &quietDriver{}, nil, quiet(b)...)
	refusing := build(b, &quietDriver{}, nil,
		pipeline.Entry{Name: "no", Stage: &looker{look: refuse(pipeline.OperatorShed)}})
	b.Run("admit and release", func(b *testing.B) { walk(b, p) })
	b.Run("refuse in the look", func(b *testing.B) { walk(b, refusing) })
}

func walk(b *testing.B, p *pipeline.Pipeline) {
	ctx := b.Context()
	r := &pipeline.Request{}
	b.ReportAllocs()
	for b.Loop() {
		r.Now = 1
		if p.Acquire(ctx, r).Verdict == pipeline.Admit {
			p.Release(r, pipeline.Result{At: 2})
		}
	}
}
