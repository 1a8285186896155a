package fleetshed

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/priority"
)

// rooms is a lease that says what the test wants.
type rooms struct{ room float64 }

func (r *rooms) Room(int64) (float64, bool) { return r.room, true }

// A cap that was worked out ahead is the cap of the room as it is.
func TestCapsAheadAreTheCapsOfTheRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lease := &rooms{}
		s, err := New(Config{Lease: lease}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			lease.room = rapid.SampledFrom([]float64{0, 0.4, 1, 3, 20, 20.5, 1e9}).Draw(t, "room")
			if rapid.Bool().Draw(t, "ticks") {
				s.Tick(int64(i))
			}
			for class := range priority.Count {
				if got, want := s.capOf(class, int64(i)), capOf(lease.room, s.config.ClassCaps[class]); got != want {
					t.Fatalf("class %d of %g requests: cap %d, want %d", class, lease.room, got, want)
				}
			}
		}
	})
}
