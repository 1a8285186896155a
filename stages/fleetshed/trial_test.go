package fleetshed

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// A request on trial is answered as any, and counted by nobody.
func TestATrialIsNotCounted(t *testing.T) {
	s := mustNew(t, Config{Lease: leased(7)}, &State{})
	r := request(priority.Normal)
	left, of := s.Spare(r)
	if n := int64(len(s.fill(priority.Normal))); left != n || of != n {
		t.Errorf("%d of %d were said to be left, and %d went in", left, of, n)
	}
	before := s.state.Refused()
	r.Trial = true
	if d := s.Look(r); d.Reason != pipeline.FleetShed {
		t.Errorf("got %+v", d)
	}
	if left, _ := s.Spare(r); left != 0 || s.state.Refused() != before {
		t.Errorf("%d left; refused %v, then %v", left, before, s.state.Refused())
	}
}
