package store

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTheQueue plays it against a plain list.
func TestTheQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		q := newQueue(size)
		var list []uint64
		next := uint64(0)
		ids := func(batch []queued) (out []uint64) {
			for _, b := range batch {
				out = append(out, b.ID.Lo)
			}
			return out
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				var in []Return
				for range rapid.IntRange(0, 5).Draw(t, "n") {
					next++
					in = append(in, Return{ID: ID{0, next}})
				}
				want := max(len(list)+len(in)-size, 0)
				if got := q.put(in, 1); got != want {
					t.Fatalf("%d dropped, want %d", got, want)
				}
				for _, r := range in[:len(in)-want] {
					list = append(list, r.ID.Lo)
				}
			case 1:
				n := min(rapid.IntRange(0, 5).Draw(t, "most"), len(list))
				if got := ids(q.take(n)); !slices.Equal(got, list[:n]) {
					t.Fatalf("took %v of %v", got, list)
				}
				list = list[n:]
			case 2:
				batch := q.take(3)
				if n := q.putBack(batch); n != 0 {
					t.Fatalf("%d dropped that were just taken", n)
				}
			}
			if q.len() != len(list) {
				t.Fatalf("%d in the queue, want %d", q.len(), len(list))
			}
		}
	})
}

func TestWhatComesBackToAFullQueue(t *testing.T) {
	q := newQueue(2)
	q.put([]Return{{ID: ID{0, 1}}, {ID: ID{0, 2}}}, 1)
	batch := q.take(2)
	q.put([]Return{{ID: ID{0, 3}}}, 1)
	if n := q.putBack(batch); n != 1 {
		t.Errorf("%d dropped", n)
	}
	if left := q.take(5); len(left) != 2 || left[0].ID.Lo != 2 || left[1].ID.Lo != 3 {
		t.Errorf("left are %+v", left)
	}
}
