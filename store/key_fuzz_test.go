package store_test

import (
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/store"
)

// Names that differ in any byte, in any part, or in where a part ends, have
// keys that differ.
func FuzzKeyOf(f *testing.F) {
	for _, s := range []string{"", "a", "{", "}", "{}", "\x00", "a\x00b", "ab", "ключ", "\xff\xfe", strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", 1<<16)} {
		f.Add(s, "b", 1)
		f.Add("caller", s, len(s)/2)
	}
	f.Fuzz(func(t *testing.T, a, b string, cut int) {
		key := store.KeyOf(a, b)
		if store.KeyOf(a, b) != key || key.IsZero() {
			t.Fatal("the same name has another key, or none")
		}
		others := map[string]store.Key{
			"one part": store.KeyOf(a + b), "an empty part more": store.KeyOf(a, b, ""), "an empty part first": store.KeyOf("", a, b),
			"a byte more": store.KeyOf(a, b+"\x00"), "joined": store.Join(store.KeyOf(a), store.KeyOf(b)),
		}
		if a != b {
			others["the other order"] = store.KeyOf(b, a)
		}
		if all := a + b; cut >= 0 && cut <= len(all) && cut != len(a) {
			others["cut elsewhere"] = store.KeyOf(all[:cut], all[cut:])
		}
		for what, other := range others {
			if other == key {
				t.Errorf("%q and %q share a key with %s", a, b, what)
			}
		}
		if text := key.String(); len(text) != 22 || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("the key is written %q", text)
		}
	})
}
