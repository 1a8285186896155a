package workershed

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stretch is one line of a scenario: for how long what held, and what must be
// true at its end.
type stretch struct {
	at    string // file and line, for failures
	lasts time.Duration
	key   map[string]string
}

// scenarios reads the stories in a folder of testdata. A line is a duration
// and pairs of a key and a value; # begins a comment.
func scenarios(t *testing.T, folder string) map[string][]stretch {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", folder, err)
	}
	stories := map[string][]stretch{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			text, _, _ := strings.Cut(lines.Text(), "#")
			if words := strings.Fields(text); len(words) > 0 {
				stories[filepath.Base(name)] = append(stories[filepath.Base(name)], newStretch(t, name+":"+strconv.Itoa(n), words))
			}
		}
		_ = f.Close()
	}
	return stories
}

func newStretch(t *testing.T, at string, words []string) stretch {
	t.Helper()
	lasts, err := time.ParseDuration(words[0])
	if err != nil || len(words)%2 != 1 {
		t.Fatalf("%s: want a duration and pairs, got %q (%v)", at, words, err)
	}
	s := stretch{at: at, lasts: lasts, key: map[string]string{}}
	for i := 1; i < len(words); i += 2 {
		s.key[words[i]] = words[i+1]
	}
	return s
}

// number is the value of a key, or 0.
func (s *stretch) number(t *testing.T, key string) float64 {
	t.Helper()
	text, ok := s.key[key]
	if !ok {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s: %s: %v", s.at, key, err)
	}
	return x
}

// duration is the value of a key, or 0.
func (s *stretch) duration(t *testing.T, key string) time.Duration {
	t.Helper()
	text, ok := s.key[key]
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %s: %v", s.at, key, err)
	}
	return d
}
