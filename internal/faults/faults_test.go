package faults

import (
	"testing"
	"time"
)

// Every row keeps every promise that does not depend on the machine.
func TestRows(t *testing.T) {
	t.Parallel()
	for _, row := range Rows() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			shape := Shape{Rate: 200, Holds: 3 * time.Millisecond, Budget: time.Second, Healthy: 300 * time.Millisecond, Fault: 500 * time.Millisecond, After: 100 * time.Millisecond}
			if row.Silent {
				shape.Budget = 50 * time.Millisecond
			}
			r, err := Run(t.Context(), &row, shape)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Errors(); err != nil {
				t.Error(err)
			}
			if err := spared(r); err != nil {
				t.Error(err)
			}
			fell, of := r.FellBack(r.Broke, r.Healed)
			t.Logf("%s: %d/%d fell back; p50 %s p99.9 %s max %s; goroutines +%d connections +%d; normal %s; slots %d after %s; ghosts %d; %+v", row.Name, fell, of,
				r.Latency(0.5), r.Latency(0.999), r.Latency(1), r.Goroutines(), r.Connections(), r.Normal(), r.SlotsHeld, r.SlotsFree, r.Ghosts(), r.Stats)
		})
	}
}

// spared holds a row to its effect as far as no healthy call may be late: on a
// machine that stood still for a part of a second many are, or are too many at
// once, and then only the store's state tells.
func spared(r *Result) error {
	switch r.Row.Effect {
	case Spares:
		if r.Stats.Crowded+r.Stats.Late > 0 {
			return r.NeverDown()
		}
		return r.Spared()
	case Fails:
		return r.NeverDown()
	case Opens, Hurts:
	}
	return nil
}
