package deptest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// SleepingTests lists the tests that sleep or that can be skipped. A test that
// sleeps is slow on a good day and wrong on a bad one; in a bubble of
// testing/synctest sleeping takes no time and is exact. A test that skips
// itself is one that nobody misses.
func SleepingTests(t *Tree) (faults []error) {
	for _, p := range t.Packages {
		for _, f := range p.Tests() {
			for _, use := range f.uses("time", "Sleep") {
				if !inBubble(f, use) {
					faults = append(faults, fmt.Errorf("%s sleeps: use testing/synctest or a channel", t.At(use)))
				}
			}
			for _, call := range skips(f) {
				faults = append(faults, fmt.Errorf("%s skips: make what it needs, or fail", t.At(call)))
			}
		}
	}
	return faults
}

// inBubble reports whether a node stands in a function that is given to
// synctest.Test, or in one that may be called from there: no test itself, in a
// file that has bubbles.
func inBubble(f *File, node ast.Node) bool {
	within := func(n ast.Node) bool { return n.Pos() <= node.Pos() && node.End() <= n.End() }
	bubbles := f.uses("testing/synctest", "Test")
	if len(bubbles) == 0 {
		return false
	}
	for _, decl := range f.Syntax.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && within(d) && !strings.HasPrefix(d.Name.Name, "Test") {
			return true
		}
	}
	for n := range ast.Preorder(f.Syntax) {
		call, ok := n.(*ast.CallExpr)
		if ok && within(call) && slices.Contains(bubbles, ast.Node(call.Fun)) {
			return true
		}
	}
	return false
}

func skips(f *File) (list []ast.Node) {
	for node := range ast.Preorder(f.Syntax) {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			continue
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
			list = append(list, call)
		}
	}
	return list
}

// vague are words that a package or a type is named with by whoever does not
// know yet what it is.
var (
	vaguePackages = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base"}
	vagueSuffixes = []string{"Impl", "Manager", "Helper", "Util", "Utils"}
)

// VagueNames lists packages and types whose names say nothing.
func VagueNames(t *Tree) (faults []error) {
	for _, p := range t.Packages {
		for _, f := range p.Code() {
			if name := f.Syntax.Name.Name; slices.Contains(vaguePackages, name) {
				faults = append(faults, fmt.Errorf("%s: package %s: name it after what it owns", t.At(f.Syntax.Name), name))
			}
			for node := range ast.Preorder(f.Syntax) {
				s, ok := node.(*ast.TypeSpec)
				if ok && slices.ContainsFunc(vagueSuffixes, func(w string) bool { return strings.HasSuffix(s.Name.Name, w) }) {
					faults = append(faults, fmt.Errorf("%s: type %s: name it after what it is", t.At(s), s.Name.Name))
				}
			}
		}
	}
	return faults
}
