package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A fault whose line has changed is planted nowhere.
func TestEveryFaultHasItsLine(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "mutants.txt" {
			return err
		}
		faults, err := read(path)
		if err != nil {
			return err
		}
		for _, f := range faults {
			seen++
			source := filepath.Join(f.dir, f.file)
			text, err := os.ReadFile(source)
			if err != nil {
				t.Error(err)
			} else if n := bytes.Count(text, []byte(f.from)); n != 1 {
				t.Errorf("%s: %s: %q occurs %d times in %s, want once", path, f.why, f.from, n, source)
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d faults, error %v", seen, err)
	}
}
