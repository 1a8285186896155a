package workershed

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/priority"
)

func TestCapsOfTheDefaultShares(t *testing.T) {
	s := newShares(defaultShares)
	for limit, want := range map[int][priority.Count]int{
		1: {1, 1, 1, 1}, 2: {1, 2, 2, 2}, 4: {2, 3, 4, 4}, 5: {3, 4, 4, 5}, 20: {10, 13, 16, 20},
		40: {20, 26, 32, 40}, 200: {100, 130, 160, 200}, 16384: {8192, 10650, 13108, 16384},
	} {
		if got := s.all(limit); got != want {
			t.Errorf("caps of %d are %v, want %v", limit, got, want)
		}
	}
}

func TestCapsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var of [priority.Count]float64
		share := 0.0
		for i := range of {
			share = rapid.Float64Range(share, 1).Draw(t, "share")
			of[i] = share
		}
		of[priority.Count-1] = 1
		s := newShares(of)
		limit := rapid.IntRange(1, mostInFlight).Draw(t, "limit")
		caps := s.all(limit)
		for class := range caps {
			if class > 0 && caps[class] < caps[class-1] {
				t.Fatalf("caps %v of %d are not nested", caps, limit)
			}
			if exact := float64(limit) * of[class]; math.Abs(float64(caps[class])-exact) > 1+float64(limit)/shareUnit {
				t.Fatalf("cap %d of %d×%v", caps[class], limit, of[class])
			}
		}
		if caps[priority.Count-1] != limit {
			t.Fatalf("critical may use %d of %d", caps[priority.Count-1], limit)
		}
	})
}
