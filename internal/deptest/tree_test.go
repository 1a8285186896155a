package deptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rules are all the rules, by the name of the module with planted faults that
// tests each of them.
var rules = map[string]func(*Tree) []error{
	"floors":       Floors.Check,
	"undocumented": Undocumented,
	"large":        TooLarge,
	"habits":       func(t *Tree) []error { return append(SleepingTests(t), VagueNames(t)...) },
	"siblings":     UnlikeSiblings,
	"links":        BrokenLinks,
}

// TestPlanted runs every rule on a module with planted faults, each of which
// it must find, and nothing else. want.txt holds a part of each fault's text,
// one a line.
func TestPlanted(t *testing.T) {
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join("testdata", name)
			wanted, err := os.ReadFile(filepath.Join(root, "want.txt"))
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, fault := range rule(load(t, root)) {
				found[fault.Error()] = true
			}
			for want := range strings.Lines(string(wanted)) {
				if !takeOne(found, strings.TrimSpace(want)) {
					t.Errorf("not found: %s", want)
				}
			}
			for fault := range found {
				t.Errorf("found, but not planted: %s", fault)
			}
		})
	}
}

func takeOne(found map[string]bool, part string) bool {
	for fault := range found {
		if strings.Contains(fault, part) {
			delete(found, fault)
			return true
		}
	}
	return false
}

func load(t *testing.T, root string) *Tree {
	t.Helper()
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) == 0 {
		t.Fatalf("no packages in %s", root)
	}
	return tree
}

func TestLoadLeavesOutOtherModules(t *testing.T) {
	tree := load(t, "../..")
	for _, p := range tree.Packages {
		if strings.HasPrefix(p.Dir, "bench") || strings.Contains(p.Dir, "testdata") {
			t.Errorf("%s is no part of this module", p.Dir)
		}
	}
}

func TestLoadReportsWhatItCannotRead(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("a folder without go.mod: no error")
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.com/broken\n")
	write(t, filepath.Join(root, "broken.go"), "package broken; func")
	if _, err := Load(root); err == nil {
		t.Error("a file that does not parse: no error")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
