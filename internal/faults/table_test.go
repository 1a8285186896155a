package faults

import (
	"os"
	"strings"
	"testing"
)

// The page shows every row as it is, and no other.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "Written by make fault-tour")
	table, _, ok := strings.Cut(table, "End of what make fault-tour wrote")
	if !ok {
		t.Fatal("the page has no marks")
	}
	rows := Rows()
	for i := range rows {
		if !strings.Contains(table, "\n"+rows[i].Cells()) {
			t.Errorf("the page does not show %s as it is: run make fault-tour", rows[i].Name)
		}
	}
	if n := strings.Count(table, "\n| ") - strings.Count(table, "\n| fault |"); n != len(rows) {
		t.Errorf("the page has %d rows, there are %d", n, len(rows))
	}
}

// Rows are told apart by their names, and stand in a section that is printed.
func TestRowsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	sections := strings.Join(Sections(), "|")
	for _, r := range Rows() {
		if seen[r.Name] || !strings.Contains(sections, r.Section) || r.Fault == "" || r.Heals == "" {
			t.Errorf("%+v", r)
		}
		seen[r.Name] = true
	}
}
