package store

import (
	"encoding"
	"testing"

	"pgregory.net/rapid"
)

var (
	_ encoding.BinaryMarshaler   = (*Ledger)(nil)
	_ encoding.BinaryUnmarshaler = (*Ledger)(nil)
)

// A ledger that is put down and taken up again between any two reports answers
// as one that was not.
func TestRecordForgetsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleet, now := fleetOf(4)
		var kept Ledger
		var data []byte
		for range rapid.IntRange(1, 60).Draw(t, "reports") {
			m := rapid.SampledFrom(fleet).Draw(t, "who")
			*now += rapid.Int64Range(0, int64(4*beat)).Draw(t, "pause")
			m.Draining = rapid.IntRange(0, 9).Draw(t, "draining") == 0
			m.Epoch += uint64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "restart"))
			m.InFlight = used(0, rapid.Float64Range(0, 100).Draw(t, "in flight"), 0, 1)
			m.Demanded = m.InFlight
			m.Now = *now
			var read Ledger
			if err := read.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			want, got := kept.Sync(m.Report), read.Sync(m.Report)
			if got != want {
				t.Fatalf("got %+v, want %+v", got, want)
			}
			m.Lease = want.Lease
			var err error
			if data, err = read.MarshalBinary(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestRecordIsNotTrusted(t *testing.T) {
	var l Ledger
	for _, bad := range []string{"{", "[]", `{"workers":7}`} {
		if l.UnmarshalBinary([]byte(bad)) == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	odd := `{"lost":-4,"workers":[{"report":{"Worker":"w","Capacity":-1,"Reserve":9},"granted":-5}]}`
	if err := l.UnmarshalBinary([]byte(odd)); err != nil {
		t.Fatal(err)
	}
	if v := l.Sync(Report{Worker: "v", Now: 1, Capacity: 10}); v.Capacity < 0 || v.Lease < 0 {
		t.Errorf("%+v", v)
	}
}
