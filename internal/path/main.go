// Command path prints the functions between a request and its verdict, in the
// order in which a reader meets them, with their lengths: make path.
//
// It fails when a function of the list has gone, or when none before it calls
// it any more, so the list in route.go stays true.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"io"
	"os"

	"github.com/plimsoll-go/plimsoll/internal/deptest"
)

func main() {
	tree, err := deptest.Load(".")
	if err == nil {
		err = write(os.Stdout, tree, route)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "path:", err)
		os.Exit(1)
	}
}

// found is a step with what the tree knows of it.
type found struct {
	step

	at    string
	lines int
	calls map[string]bool // names that its body mentions
}

func write(w io.Writer, tree *deptest.Tree, route []leg) error {
	var walked []found
	var errs []error
	total, functions, files := 0, 0, map[string]bool{}
	for _, l := range route {
		fmt.Fprintf(w, "%s\n", l.title)
		lines := 0
		for _, s := range l.steps {
			f, err := locate(tree, s)
			if err == nil && len(walked) > 0 && !called(walked, s) {
				err = fmt.Errorf("%s.%s is called by nothing before it", s.dir, s.name)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			walked = append(walked, f)
			lines += f.lines
			functions++
			files[fileOf(f.at)] = true
			fmt.Fprintf(w, "  %4d  %-28s %s\n", f.lines, s.name, f.at)
		}
		total += lines
		fmt.Fprintf(w, "  %4d  lines\n", lines)
	}
	fmt.Fprintf(w, "%d lines in %d functions and %d files\n", total, functions, len(files))
	return errors.Join(errs...)
}

func locate(tree *deptest.Tree, s step) (found, error) {
	for _, p := range tree.Packages {
		if p.Dir != s.dir {
			continue
		}
		for _, f := range p.Code() {
			for _, decl := range f.Syntax.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok && deptest.FuncName(d) == s.name {
					return found{s, tree.At(d), tree.Length(d), mentions(d)}, nil
				}
			}
		}
	}
	return found{}, fmt.Errorf("%s has no function %s", s.dir, s.name)
}

func mentions(d *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	for node := range ast.Preorder(d.Body) {
		if name, ok := node.(*ast.Ident); ok {
			names[name.Name] = true
		}
	}
	return names
}

func called(before []found, s step) bool {
	for _, f := range before {
		if f.calls[s.call()] {
			return true
		}
	}
	return false
}

func fileOf(at string) string {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i] == ':' {
			return at[:i]
		}
	}
	return at
}
