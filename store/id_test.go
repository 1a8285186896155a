package store_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/store"
)

func TestIDsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		id := store.ID{Hi: rapid.Uint64().Draw(rt, "hi"), Lo: rapid.Uint64().Draw(rt, "lo")}
		text := id.String()
		if got, err := store.ParseID(text); err != nil || got != id || len(text) != 22 {
			rt.Fatalf("%v is %q, read as %v, %v", id, text, got, err)
		}
	})
	for _, text := range []string{"", "AAAA", "AAAAAAAAAAAAAAAAAAAAA!", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAAAAAA"} {
		if id, err := store.ParseID(text); err == nil {
			t.Errorf("%q is read as %v", text, id)
		}
	}
}
