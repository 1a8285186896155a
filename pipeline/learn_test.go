package pipeline_test

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

type learner struct {
	looker
	learns  bool
	learnt  []pipeline.Outcome
	panicky bool
}

func (s *learner) Learns() bool { return s.learns }

func (s *learner) Learn(_ *pipeline.Request, result pipeline.Result) {
	s.learnt = append(s.learnt, result.Outcome)
	if s.panicky {
		panic("planted panic")
	}
}

func TestStagesLearnFromWorkThatRan(t *testing.T) {
	curious, incurious, panicky := &learner{learns: true}, &learner{}, &learner{learns: true, panicky: true}
	held := &taker{}
	p := build(t, nil, nil,
		pipeline.Entry{Name: "held", Stage: held}, pipeline.Entry{Name: "panicky", Stage: panicky},
		pipeline.Entry{Name: "curious", Stage: curious}, pipeline.Entry{Name: "incurious", Stage: incurious})
	for _, outcome := range []pipeline.Outcome{pipeline.Completed, pipeline.Dropped, pipeline.Ignored, pipeline.NotRun} {
		r := &pipeline.Request{}
		p.Acquire(t.Context(), r)
		p.Release(r, pipeline.Result{Outcome: outcome})
	}
	if len(curious.learnt) != 3 || len(incurious.learnt) != 0 || len(panicky.learnt) != 3 || held.holding() != 0 {
		t.Errorf("learnt %v, %v, %v; held %d", curious.learnt, incurious.learnt, panicky.learnt, held.holding())
	}
}
