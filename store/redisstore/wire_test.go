package redisstore

import (
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/store"
)

// oddIDs are callers whose ids look like something else.
var oddIDs = []string{
	"", "{", "}", "{}", "}{", "{a}", "{a}{b}", "a}s1", "\x00", "\x00\x00", "a\x00", "a\r\n", "*", "?", "[a]", "plimsoll:{x}t",
	"\xff\xfe\x00", "ключ", "a", "a ", " a", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20) + "y",
}

// tag is what a cluster hashes of a key.
func tag(key string) string {
	_, rest, ok := strings.Cut(key, "{")
	if inside, _, closed := strings.Cut(rest, "}"); ok && closed && inside != "" {
		return inside
	}
	return key
}

// All keys of a caller lie in one slot of a cluster, whatever its id is, and
// none is another's.
func FuzzCallersKeys(f *testing.F) {
	s, l, held := &Store{prefix: "plimsoll:"}, bucketOf(f, 10), slotsOf(f, 10)
	for i, id := range oddIDs {
		f.Add(id, oddIDs[(i+1)%len(oddIDs)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		one, other := store.KeyOf("caller", a), store.KeyOf("caller", b)
		tokens, slots := s.keyOf(one, l), s.keyOf(one, held)
		if tag(tokens) != tag(slots) || tag(tokens) != one.String() {
			t.Errorf("%q: the keys %q and %q lie apart", a, tokens, slots)
		}
		for _, key := range []string{tokens, slots} {
			if len(key) > 64 || strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 {
				t.Errorf("%q has the key %q", a, key)
			}
		}
		if a != b && (s.keyOf(other, l) == tokens || s.keyOf(other, held) == slots) {
			t.Errorf("%q and %q share a key", a, b)
		}
	})
}

// Callers with odd ids are counted each alone, by a real server.
func TestOddCallers(t *testing.T) {
	srv := start(t)
	s, l, held := open(t, srv), bucketOf(t, 2), slotsOf(t, 1)
	for _, id := range oddIDs {
		b := claim(t, s, batchOf(id, l, held))
		if !b.Grants[0].OK || b.Grants[0].Remaining != 1 || !b.Grants[1].OK {
			t.Errorf("%.20q: the first request is told %+v", id, b.Grants)
		}
		if b := claim(t, s, batchOf(id, l, held)); b.Grants[1].OK {
			t.Errorf("%.20q: two slots of one", id)
		}
	}
	if n := srv.do(t, "DBSIZE").(int64); n != int64(2*len(oddIDs)) {
		t.Errorf("%d keys for %d callers", n, len(oddIDs))
	}
}
