package telemetry

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Two that meet a new name at once count in one place.
func TestANameIsAddedOnce(t *testing.T) {
	s := &entries{stripes: 2}
	key := entryName{"new", "kind"}
	first, second := s.add(key), s.add(key)
	if first != second {
		t.Error("the second replaced the first, with what it had counted")
	}
}

// The same name under another kind of stage is another entry; the same name at
// another index is not.
func TestEntriesGoByNameAndKind(t *testing.T) {
	s := &entries{stripes: 2}
	one := s.of(0, "limit", "ratelimit")
	if s.of(0, "limit", "concurrency") == one {
		t.Error("two kinds are counted as one")
	}
	if s.of(7, "limit", "ratelimit") != one || s.of(200, "limit", "ratelimit") != one || s.of(0, "limit", "ratelimit") != one {
		t.Error("the counts of an entry go by its place")
	}
	if n := len(s.list()); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// At the bound, an entry may be called other itself.
func TestTheBoundOfEntries(t *testing.T) {
	s := &entries{stripes: 2}
	for i := range 3 * mostEntries {
		s.of(0, fmt.Sprint(i), "kind")
	}
	own := s.of(0, other, other)
	if late := s.of(1, "late", "kind"); late != own {
		t.Error("a late name has counts of its own")
	}
	if s.add(entryName{"0", "kind"}) == own {
		t.Error("a name that was known lost its counts, because another added it first")
	}
	if n := len(s.list()); n != mostEntries+1 {
		t.Errorf("%d entries, want %d", n, mostEntries+1)
	}
}

// Names that are the same as labels share their counts, or a scrape would
// have a series twice.
func TestNamesThatLookTheSame(t *testing.T) {
	s := &entries{stripes: 2}
	long := strings.Repeat("x", 200)
	if s.of(0, long+"1", "k") != s.of(0, long+"2", "k") || s.of(0, "\xff", "k") != s.of(0, "\xfe", "k") {
		t.Error("two entries with one label")
	}
	if n := len(s.list()); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// Whatever entries are called, every refusal is told, and the scrape is none
// that fails.
func TestEntriesOfAnyName(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 3), 0, 90).Draw(rt, "names")
		observer := made(t, Config{})
		for i, name := range names {
			cell := observer.entries.of(uint8(i), string(name), "kind")
			cell.refusals[i%len(cell.refusals)][pipeline.Enforce][0][pipeline.FleetShed].Add(1)
		}
		told := 0.0
		for _, p := range observer.Points(Refusals) {
			told += p.Value
		}
		if told != float64(len(names)) {
			rt.Errorf("%v refusals are told of %d", told, len(names))
		}
		scrape(t, observer)
	})
}
