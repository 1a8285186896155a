package config

import (
	"reflect"
	"strconv"

	"github.com/plimsoll-go/plimsoll/limit"
)

var rateType = reflect.TypeFor[limit.Rate]()

// outOfRange finds the values of a file that no file could hold: Parse cannot
// let them in, a program can.
func outOfRange(f *File) Errors {
	w := &rangeWalk{}
	w.structure(reflect.ValueOf(f).Elem(), "")
	return w.problems
}

type rangeWalk struct{ problems Errors }

func (w *rangeWalk) structure(v reflect.Value, path string) {
	s := structureOf(v.Type())
	for i := range s.fields {
		f := &s.fields[i]
		if target, err := v.FieldByIndexErr(f.index); err == nil { // an error is the part of another variant
			w.value(target, join(path, f.key), f)
		}
	}
}

func (w *rangeWalk) value(v reflect.Value, path string, f *field) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		w.value(v.Elem(), path, f)
	case scalars[v.Type()] != nil:
		w.word(v, path, f)
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[Cost]():
		w.structure(v, path)
	case v.Kind() == reflect.Slice:
		w.length(v, path, f)
		for i := range v.Len() {
			w.value(v.Index(i), path+"["+strconv.Itoa(i)+"]", f.element())
		}
	default:
		w.number(v, path, f)
	}
}

// word checks a type of words by reading what it would be written as.
func (w *rangeWalk) word(v reflect.Value, path string, f *field) {
	w.number(v, path, f)
	if v.Kind() != reflect.String || v.String() == "" && f.defaultValue == "" && !f.required {
		return
	}
	s := scalars[v.Type()]
	if _, err := s.parse(v.String()); err != nil {
		w.problems = append(w.problems, Problem{Path: path, Message: allowed(err.Error(), s.right)})
	}
}

func (w *rangeWalk) number(v reflect.Value, path string, f *field) {
	amount, shown := number(v)
	absent := v.IsZero() && f.defaultValue == "" && !f.required
	if shown == "" || absent {
		return
	}
	if wrong := f.bounds.check(amount, shown); wrong != "" {
		w.problems = append(w.problems, Problem{Path: path, Message: wrong})
	}
}

func (w *rangeWalk) length(v reflect.Value, path string, f *field) {
	if v.Len() == 0 {
		return // absent
	}
	if wrong := f.wrongLength(v.Len()); wrong != "" {
		w.problems = append(w.problems, Problem{Path: path, Message: wrong})
	}
}
