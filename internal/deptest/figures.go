package deptest

import (
	"cmp"
	"fmt"
	"go/ast"
	"io"
	"slices"
	"strings"
)

// What docs/architecture.md promises of the shape of this code. Test files are
// not counted.
const (
	MedianFunction  = 8   // lines that half of the functions have at most
	P95Function     = 35  // lines that 95 of 100 functions have at most
	LongestFunction = 70  // lines; more needs a reason
	LongestFile     = 500 // lines; more needs a reason
	MostParameters  = 5   // of a function; more is a struct
	MostMethods     = 4   // of an interface; more needs a reason
)

// A function, file or interface above a limit says why in its comment (a file
// in the comment above its package clause):
//
//	//figures:large a flat table, one line a case
const largeMarker = "//figures:large "

// Figure is the length of one function or file.
type Figure struct {
	Name  string
	Lines int
}

// Figures is how a tree reads.
type Figures struct {
	Functions, Files     []Figure // shortest first
	Exported, Documented int      // names
}

// Measure counts the lines of a tree.
func Measure(t *Tree) *Figures {
	m := &Figures{}
	for _, e := range t.exported() {
		m.Exported++
		if e.documented {
			m.Documented++
		}
	}
	for _, p := range t.Packages {
		for _, f := range p.Code() {
			if ast.IsGenerated(f.Syntax) {
				continue
			}
			m.Files = append(m.Files, Figure{p.Dir + "/" + f.Name, f.Lines})
			for _, decl := range f.Syntax.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok {
					m.Functions = append(m.Functions, Figure{p.Dir + " " + FuncName(d), t.Length(d)})
				}
			}
		}
	}
	shortestFirst := func(a, b Figure) int { return cmp.Compare(a.Lines, b.Lines) }
	slices.SortStableFunc(m.Functions, shortestFirst)
	slices.SortStableFunc(m.Files, shortestFirst)
	return m
}

// Print writes the figures, and the longest of each.
func (m *Figures) Print(w io.Writer) {
	fmt.Fprintf(w, "functions: %d, lines: median %d, p95 %d, longest %d\n",
		len(m.Functions), Quantile(m.Functions, 0.5), Quantile(m.Functions, 0.95), Quantile(m.Functions, 1))
	printLongest(w, m.Functions, 8)
	fmt.Fprintf(w, "files: %d, lines: median %d, p95 %d, longest %d\n",
		len(m.Files), Quantile(m.Files, 0.5), Quantile(m.Files, 0.95), Quantile(m.Files, 1))
	printLongest(w, m.Files, 5)
	fmt.Fprintf(w, "exported names: %d, documented: %d\n", m.Exported, m.Documented)
}

func printLongest(w io.Writer, list []Figure, n int) {
	for _, f := range slices.Backward(list[max(0, len(list)-n):]) {
		fmt.Fprintf(w, "  %4d %s\n", f.Lines, f.Name)
	}
}

// Quantile is the length that a share q (0 … 1) of a sorted list does not exceed.
func Quantile(sorted []Figure, q float64) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))].Lines
}

// TooLarge lists what is above a limit of shape and gives no reason.
func TooLarge(t *Tree) (faults []error) {
	m := Measure(t)
	if got := Quantile(m.Functions, 0.5); got > MedianFunction {
		faults = append(faults, fmt.Errorf("the median function has %d lines, above %d", got, MedianFunction))
	}
	if got := Quantile(m.Functions, 0.95); got > P95Function {
		faults = append(faults, fmt.Errorf("the 95th of 100 functions has %d lines, above %d", got, P95Function))
	}
	for _, p := range t.Packages {
		for _, f := range p.Code() {
			faults = append(faults, t.tooLarge(f)...)
		}
	}
	return faults
}

func (t *Tree) tooLarge(f *File) (faults []error) {
	if ast.IsGenerated(f.Syntax) {
		return nil
	}
	if f.Lines > LongestFile && !argued(f.Syntax.Comments...) {
		faults = append(faults, fmt.Errorf("%s: the file has %d lines, above %d", t.At(f.Syntax), f.Lines, LongestFile))
	}
	for _, decl := range f.Syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			faults = append(faults, t.tooLargeFunc(d)...)
		case *ast.GenDecl:
			faults = append(faults, t.tooManyMethods(d)...)
		}
	}
	return faults
}

func (t *Tree) tooLargeFunc(d *ast.FuncDecl) (faults []error) {
	if argued(d.Doc) {
		return nil
	}
	if n := t.Length(d); n > LongestFunction {
		faults = append(faults, fmt.Errorf("%s: %s has %d lines, above %d", t.At(d), FuncName(d), n, LongestFunction))
	}
	if n := d.Type.Params.NumFields(); n > MostParameters {
		faults = append(faults, fmt.Errorf("%s: %s has %d parameters, above %d: use a struct", t.At(d), FuncName(d), n, MostParameters))
	}
	if !d.Name.IsExported() || !exportedReceiver(d) {
		return faults
	}
	for _, p := range d.Type.Params.List {
		if x, ok := p.Type.(*ast.Ident); ok && x.Name == "bool" {
			faults = append(faults, fmt.Errorf("%s: %s takes a bool: nobody can read its calls", t.At(p), FuncName(d)))
		}
	}
	return faults
}

func (t *Tree) tooManyMethods(d *ast.GenDecl) (faults []error) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if i, ok := s.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > MostMethods && !argued(d.Doc, s.Doc) {
			faults = append(faults, fmt.Errorf("%s: %s has %d methods, above %d", t.At(s), s.Name.Name, i.Methods.NumFields(), MostMethods))
		}
	}
	return faults
}

// argued reports whether a comment gives a reason for being large.
func argued(comments ...*ast.CommentGroup) bool {
	for _, group := range comments {
		if group == nil {
			continue
		}
		for _, c := range group.List {
			reason, ok := strings.CutPrefix(c.Text, largeMarker)
			if ok && len(strings.Fields(reason)) >= 3 {
				return true
			}
		}
	}
	return false
}
