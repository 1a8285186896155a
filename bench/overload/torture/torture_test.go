package torture

import (
	"strings"
	"testing"
	"time"
)

func find(t *testing.T, name string) *Subject {
	t.Helper()
	for _, s := range Subjects() {
		if s.Name == name {
			return &s
		}
	}
	t.Fatalf("no subject is named %s", name)
	return nil
}

func check(t *testing.T, letter string) *Check {
	t.Helper()
	for _, c := range Checks() {
		if c.Letter == letter {
			return &c
		}
	}
	t.Fatalf("no check is named %s", letter)
	return nil
}

func TestOursPassesEveryCheck(t *testing.T) {
	for _, c := range Checks() {
		t.Run(c.Letter, func(t *testing.T) {
			if cell := try(&c, find(t, "plimsoll")); !cell.Pass || cell.Why != "" {
				t.Errorf("%s: %+v", c.Title, cell)
			}
		})
	}
}

// A check that nobody fails checks nothing. These faults were known before.
func TestKnownFaultsOfOthersAreSeen(t *testing.T) {
	before := enough
	t.Cleanup(func() { enough = before })
	enough = 500 * time.Millisecond // they fail however long one waits
	for _, c := range []struct{ letter, subject, why string }{
		{"a", "failsafe-go limiter", "in flight stays 8"},
		{"a", "failsafe-go bulkhead", "in flight stays 8"},
		{"a", "aegis BBR", "in flight stays"},
		{"a", "go-concurrency-limits", "in flight stays"},
		{"b", "failsafe-go limiter", "stay queued"},
		{"c", "failsafe-go limiter", "in flight is"},
		{"c", "failsafe-go bulkhead", "releases hang"},
		{"c", "aegis BBR", "in flight is"},
		{"c", "go-zero", "in flight is"},
		{"c", "go-concurrency-limits", "in flight is"},
		{"k", "go-zero", "of 1000 that hang are let in"}, // all, or fewer where the processor is busy
	} {
		t.Run(c.letter+"/"+c.subject, func(t *testing.T) {
			if cell := try(check(t, c.letter), find(t, c.subject)); cell.Pass || !strings.Contains(cell.Why, c.why) {
				t.Errorf("%+v, want a failure with %q", cell, c.why)
			}
		})
	}
}

func TestTheTableSaysWhatFailedAndWhatDoesNotApply(t *testing.T) {
	subjects := []Subject{{Name: "one", Form: "bare"}, {Name: "two", Form: "wrapped"}}
	table := Table{{Check: Check{Letter: "a", Title: "it rains"}, Cells: map[string]Cell{
		"one": {Pass: true}, "two": {Why: "it is wet"},
	}}, {Check: Check{Letter: "b", Title: "it snows"}, Cells: map[string]Cell{
		"one": {Pass: true, Why: "it has no roof"}, "two": {Pass: true},
	}}}
	page := table.Markdown(subjects)
	for _, want := range []string{
		"| **a** it rains | pass | **fail** |", "| **b** it snows | – | pass |",
		"- **a** two: it is wet.", "- **b** one: it has no roof.", "- two: wrapped.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}
