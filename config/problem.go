package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a configuration.
type Problem struct {
	File    string // as it was named to Load or Parse, or "environment"
	Line    int    // from 1; 0 when the value did not come from a file
	Column  int    // from 1; 0 when the value did not come from a file
	Path    string // where in the document, as in stages[1].limits[0].rate; a variable's name for the environment; "" for the whole
	Message string // what is wrong, then "; allowed: " and what would be right
}

// String is file:line:column: path: message, without the parts that are not known.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Errors is every fault of a configuration, in the order of the file. It is
// never empty when it is returned as an error.
type Errors []Problem

// Error is one line for each problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many problems one reading reports: more than a person
// reads, and few enough that a file of nothing else is refused at once.
const maxProblems = 1000

// add notes a problem, or that there are more than are noted.
func (e *Errors) add(p Problem) {
	switch len(*e) {
	case maxProblems + 1:
		return
	case maxProblems:
		p = Problem{File: p.File, Line: p.Line, Column: p.Column, Message: "and more problems from here on, which are not listed"}
	}
	*e = append(*e, p)
}

// sorted orders problems as a reader meets them.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// asError is nil when there is no problem: an empty list in an error would not be.
func (e Errors) asError() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// allowed appends what would be right to what is wrong.
func allowed(what, right string) string {
	if right == "" {
		return what
	}
	return what + "; allowed: " + right
}
