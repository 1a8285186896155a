package deptest

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Floor is the place of a package, or of a family of them: it imports packages
// of this module from floors strictly below its own.
type Floor struct {
	Package string   // folder below the module; * stands for one segment
	Level   int      // 0 is the lowest
	Why     string   // why it may not know what stands beside it or above
	Beside  []string // packages of its own floor that it may import all the same
	Bans    []Ban    // beyond the floors
	NoClock string   // why it never reads a clock; empty means that it may
	Use     Use
}

// Ban is a package, or all below it, that must not be imported.
type Ban struct{ Import, Why string }

// Use says who may import a package. The zero value is any higher floor.
type Use uint8

// The uses.
const (
	Anywhere  Use = iota // by higher floors
	TestsOnly            // by tests alone: a conformance kit
	Nowhere              // by nobody: a command, an example
)

// Exclusive is a package that few may import, because the others reach what it
// does through a contract.
type Exclusive struct {
	Import string   // and all below it
	Only   []string // folders below the module; * stands for one segment
	Why    string
}

// Table is the floors of one module.
type Table struct {
	Floors    []Floor
	Exclusive []Exclusive
}

// Check lists every import that the table does not allow, and every package
// that has no place in it. Imports of tests are free.
func (t *Table) Check(tree *Tree) (faults []error) {
	for _, p := range tree.Packages {
		floor := t.find(p.Dir)
		if floor == nil {
			faults = append(faults, fmt.Errorf("%s has no floor: give it a line in internal/deptest/table.go", p.Dir))
			continue
		}
		for _, f := range p.Code() {
			for _, imported := range f.imports() {
				if err := t.judge(tree, p, floor, imported); err != nil {
					faults = append(faults, fmt.Errorf("%s/%s: %w", p.Dir, f.Name, err))
				}
			}
			faults = append(faults, clockReadings(tree, floor, f)...)
		}
	}
	return faults
}

// Unused lists the lines of the table that no package of the tree stands on.
func (t *Table) Unused(tree *Tree) (list []string) {
	for i := range t.Floors {
		used := slices.ContainsFunc(tree.Packages, func(p *Package) bool { return t.find(p.Dir) == &t.Floors[i] })
		if !used {
			list = append(list, t.Floors[i].Package)
		}
	}
	return list
}

func (t *Table) find(dir string) *Floor {
	for i := range t.Floors {
		if matches(t.Floors[i].Package, dir) {
			return &t.Floors[i]
		}
	}
	return nil
}

func (t *Table) judge(tree *Tree, p *Package, floor *Floor, imported string) error {
	for _, b := range floor.Bans {
		if below(imported, b.Import) {
			return fmt.Errorf("imports %s, which %s never does: %s", imported, p.Dir, b.Why)
		}
	}
	for _, e := range t.Exclusive {
		if below(imported, e.Import) && !slices.ContainsFunc(e.Only, func(only string) bool { return matches(only, p.Dir) }) {
			return fmt.Errorf("imports %s, which is left to %s: %s", imported, strings.Join(e.Only, ", "), e.Why)
		}
	}
	dir, ours := strings.CutPrefix(imported, tree.Module+"/")
	if !ours {
		return nil
	}
	return t.judgeOurs(p, floor, dir)
}

func (t *Table) judgeOurs(p *Package, floor *Floor, dir string) error {
	other := t.find(dir)
	switch {
	case other == nil:
		return fmt.Errorf("imports %s, which has no floor", dir)
	case other.Use == TestsOnly && floor.Use != TestsOnly:
		return fmt.Errorf("imports %s, which is for tests alone", dir)
	case other.Use == Nowhere:
		return fmt.Errorf("imports %s, which nobody may import", dir)
	case other.Level < floor.Level || slices.Contains(floor.Beside, dir):
		return nil
	}
	return fmt.Errorf("%s on floor %d imports %s on floor %d: %s", p.Dir, floor.Level, dir, other.Level, floor.Why)
}

// clockReadings lists the calls that read or wait for the wall clock, in a
// package that is told the time.
func clockReadings(tree *Tree, floor *Floor, f *File) (faults []error) {
	if floor.NoClock == "" {
		return nil
	}
	for _, name := range []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"} {
		for _, use := range f.uses("time", name) {
			faults = append(faults, fmt.Errorf("%s calls time.%s: %s", tree.At(use), name, floor.NoClock))
		}
	}
	return faults
}

// below reports whether a path is another, or lies below it.
func below(imported, prefix string) bool {
	rest, ok := strings.CutPrefix(imported, prefix)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/"))
}

func matches(pattern, dir string) bool {
	ok, err := path.Match(pattern, dir)
	return ok && err == nil
}

// Validate reports lines of the table that say nothing: without a reason, or
// hidden behind an earlier line.
func (t *Table) Validate() error {
	var errs []error
	for i := range t.Floors {
		f := &t.Floors[i]
		if f.Why == "" {
			errs = append(errs, fmt.Errorf("%s gives no reason for its floor", f.Package))
		}
		if t.find(f.Package) != f {
			errs = append(errs, fmt.Errorf("%s stands behind %s", f.Package, t.find(f.Package).Package))
		}
		for _, b := range f.Bans {
			if b.Why == "" {
				errs = append(errs, fmt.Errorf("%s bans %s without a reason", f.Package, b.Import))
			}
		}
	}
	for _, e := range t.Exclusive {
		if e.Why == "" {
			errs = append(errs, fmt.Errorf("%s is exclusive without a reason", e.Import))
		}
	}
	return errors.Join(errs...)
}
