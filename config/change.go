package config

import (
	"reflect"
	"slices"
	"strings"
)

// Changes lists the paths whose values differ between two files, in the order
// of the reference. Of a list that differs it names the list.
func Changes(from, to *File) []string {
	return changes(reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem(), "")
}

func changes(from, to reflect.Value, path string) (list []string) {
	for _, f := range structureOf(from.Type()).fields {
		a, b := from.FieldByIndex(f.index), to.FieldByIndex(f.index)
		at := join(path, f.key)
		switch {
		case isMapping(a.Type()):
			list = append(list, changes(a, b, at)...)
		case !reflect.DeepEqual(a.Interface(), b.Interface()):
			list = append(list, at)
		}
	}
	return list
}

// fixed are the sections and keys that count from the start of a process to its
// end: they have made listeners, connections, stores and the log.
var fixed = []string{"listen", "upstream", "admin", "server", "proxy", "store", "control", "log.format", "log.refusals", "log.summary", "log.callers"}

// restart lists the changes that count only after the next start.
func restart(began, f *File) []string {
	return slices.DeleteFunc(Changes(began, f), func(path string) bool {
		section, _, _ := strings.Cut(path, ".")
		return !slices.Contains(fixed, section) && !slices.Contains(fixed, path)
	})
}
