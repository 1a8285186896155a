package store

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Keys of different parts differ, however the parts are cut: a limiter that
// joins them with a letter lets ("a", "b_c") spend what is ("a_b", "c")'s.
func TestKeysOfDifferentPartsDiffer(t *testing.T) {
	part := rapid.SliceOfN(rapid.SampledFrom([]byte{'a', 'b', '_', ':', 0, 1, 2, 0xff}), 0, 4)
	parts := rapid.SliceOfN(rapid.Map(part, func(b []byte) string { return string(b) }), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		if same := KeyOf(a...) == KeyOf(b...); same != slices.Equal(a, b) {
			t.Fatalf("%q and %q have the same key: %v", a, b, same)
		}
	})
	if KeyOf("a", "b_c") == KeyOf("a_b", "c") || KeyOf("a", "") == KeyOf("a") || KeyOf("", "a") == KeyOf("a") {
		t.Error("parts run together")
	}
}

// Joined keys differ by their order and number, and from those of parts.
func TestJoinedKeysDiffer(t *testing.T) {
	a, b := KeyOf("a"), KeyOf("b")
	keys := []Key{a, b, Join(a), Join(b), Join(a, b), Join(b, a), Join(a, a), Join(a, b, a), Join(Join(a, b), a), Join(a, Join(b, a)), Join(), KeyOf()}
	for i, k := range keys {
		if j := slices.Index(keys, k); j != i {
			t.Errorf("keys %d and %d are the same", j, i)
		}
		if read, err := ParseKey(k.String()); err != nil || read != k {
			t.Errorf("key %d reads back as %v, %v", i, read, err)
		}
	}
}
