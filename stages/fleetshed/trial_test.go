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

// lapses is a lease that ends.
type lapses struct{ at int64 }

func (l lapses) Room(now int64) (float64, bool) {
	if now < l.at {
		return 5, true
	}
	return 0, true
}

// A request that was held for its turn is judged by the lease of the moment at
// which it goes on, and not by that of its arrival.
func TestAHeldRequestGoesByTheLeaseOfItsTurn(t *testing.T) {
	s := mustNew(t, Config{Lease: lapses{100}, ClassCaps: flat}, &State{})
	r := request(priority.High)
	if d := s.Look(r); d.Verdict != pipeline.Admit {
		t.Fatalf("on arrival: %+v", d)
	}
	r.Waits.Delay = 200
	if d := s.Take(t.Context(), r); d.Reason != pipeline.FleetShed {
		t.Errorf("after the lease has ended: %+v", d)
	}
}

// A lease that falls below what is in flight leaves no room, and not less.
func TestNothingIsSpareBelowWhatIsInFlight(t *testing.T) {
	lease := leased(10)
	s := mustNew(t, Config{Lease: lease, ClassCaps: flat}, &State{})
	s.fill(priority.Normal)
	lease.room = 4
	if left, of := s.Spare(request(priority.Normal)); left != 0 || of != 4 {
		t.Errorf("%d of %d are spare, want 0 of 4", left, of)
	}
}
