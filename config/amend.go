package config

import (
	"fmt"
	"slices"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Amendment is what a plan has beside its file: what people changed for a
// while. The zero value is nothing.
type Amendment struct {
	// Routes are patterns that the table of routes holds beside those of the
	// file; see File.FitRoutes.
	Routes []string
	// First makes the entries that come before those of the file, on the table
	// of the plan. Nil: none.
	First func(*match.Table) ([]pipeline.Entry, error)
}

// FitRoutes says which of some patterns a table of routes can hold beside
// those of the file, in their order, and of each other one why not.
func (f *File) FitRoutes(patterns []string) (fit []string, unfit map[string]string) {
	list := f.located()
	unfit = map[string]string{}
	for _, pattern := range patterns {
		wrong := alone(pattern)
		if wrong == "" && !slices.ContainsFunc(list, func(l located) bool { return l.pattern == pattern }) {
			wrong = beside(pattern, list)
		}
		if wrong != "" {
			unfit[pattern] = wrong
			continue
		}
		list = append(list, located{pattern, fmt.Sprintf("override on %s", pattern)})
		fit = append(fit, pattern)
	}
	return fit, unfit
}

// amended is the table of a file with further patterns.
func (f *File) amended(a *Amendment) (*match.Table, error) {
	return match.NewTable(append(f.Routes(), a.Routes...)...)
}

// first makes the entries that come first.
func (a *Amendment) first(table *match.Table) ([]pipeline.Entry, error) {
	if a.First == nil {
		return nil, nil
	}
	return a.First(table)
}

// Routes are the patterns of the file, in its order; some may occur twice.
func (f *File) Routes() (patterns []string) {
	for _, l := range f.located() {
		patterns = append(patterns, l.pattern)
	}
	return patterns
}
