package algorithms

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pictures and the table of docs/algorithms.md")

const documents = "../../docs"

// current compares a file with what it should hold, or writes it.
func current(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what a run gives; run go generate ./internal/algorithms", file)
	}
}

func TestGeneratedPictures(t *testing.T) {
	for _, s := range Subjects() {
		picture, err := s.Draw()
		if err != nil {
			t.Fatal(err)
		}
		current(t, filepath.Join(documents, "algorithms", s.File+".svg"), picture)
	}
}

// The page tells the measurement as it is made here.
func TestGeneratedTable(t *testing.T) {
	const start, end = "<!-- measured by internal/algorithms -->\n", "<!-- end of what is measured -->"
	file := filepath.Join(documents, "algorithms.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), start)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the table", file)
	}
	current(t, file, before+start+Table(1)+end+after)
}

// What the pictures show is what the algorithms promise, of a limit of 10.
func TestPicturesKeepThePromises(t *testing.T) {
	most := map[string]int{"token-bucket": 20, "fixed-window": 20, "sliding-window": 20, "sliding-log": 10, "strict-window": 10, "leaky-bucket": 11, "leaky-bucket-nodelay": 20}
	for _, s := range Subjects() {
		requests, err := s.run()
		if err != nil {
			t.Fatal(err)
		}
		peak := 0
		for _, r := range requests {
			peak = max(peak, within(requests, r.went))
		}
		if peak > most[s.File] || peak < 9 {
			t.Errorf("%s: %d within a second, promised are %d", s.File, peak, most[s.File])
		}
	}
}

// The measurement finds what is known of its extremes: the adversary passes
// nearly twice the limit in one window, and the unlucky one is refused what a
// log admits.
func TestMistakesAtTheExtremes(t *testing.T) {
	if m := Adversary(20); m.Most < 190 || m.Most > 200 || m.Denied == 0 {
		t.Errorf("the adversary: %+v", m)
	}
	if m := Unlucky(20); m.Denied < 20*98 || m.Passed != 0 || m.Refused != 0 {
		t.Errorf("the unlucky one: %+v", m)
	}
	if m := ManySources("", near(500)); m.Wrong() > 0.01 || m.Requests < 100_000 {
		t.Errorf("many sources: %+v", m)
	}
}
