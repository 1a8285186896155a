package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// field is one key of a mapping, as the tags of a struct field state it:
//
//	yaml      the key; ",inline" puts the fields of a struct in its parent
//	default   the value when the key is absent, as the file would write it
//	absent    what the absence of the key means, when no value says it
//	range     the least and the largest value, as in 1..100; either may be empty
//	items     the same for the length of a list or mapping
//	required  "true" when the key must be there
//	single    "true" for a list that may be written as its one element
//	variant   the word of the sibling key "stage" that these keys belong to
//	example   a value to show
type field struct {
	key          string
	index        []int
	bounds       bounds
	items        bounds
	defaultValue string
	absent       string
	example      string
	required     bool
	single       bool
	variant      string // "" for keys that every variant has
}

// bounds is a closed interval, and its ends as they were written.
type bounds struct {
	low, high         float64
	lowText, highText string
}

// structure is what the keys of a struct are.
type structure struct {
	fields   []field
	variants []variant // not empty when the keys depend on the key "stage"
}

// variant is a part of a structure that is there for one word of "stage".
type variant struct {
	word  string
	index []int // of the pointer to the part
}

var structures sync.Map // reflect.Type → *structure

// structureOf reads the tags of a struct type.
func structureOf(t reflect.Type) *structure {
	if s, ok := structures.Load(t); ok {
		return s.(*structure)
	}
	s := &structure{}
	s.collect(t, nil, "")
	structures.Store(t, s)
	return s
}

func (s *structure) collect(t reflect.Type, index []int, word string) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), index...), i)
		key, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Tag.Get("variant") != "":
			s.variants = append(s.variants, variant{f.Tag.Get("variant"), at})
			s.collect(f.Type.Elem(), at, f.Tag.Get("variant"))
		case option == "inline":
			s.collect(f.Type, at, word)
		case key != "" && key != "-":
			s.fields = append(s.fields, field{
				key: key, index: at, variant: word,
				bounds: parseBounds(f.Tag.Get("range"), f.Type), items: parseBounds(f.Tag.Get("items"), reflect.TypeFor[int]()),
				defaultValue: f.Tag.Get("default"), absent: f.Tag.Get("absent"), example: f.Tag.Get("example"),
				required: f.Tag.Get("required") == "true", single: f.Tag.Get("single") == "true",
			})
		}
	}
}

// of reports whether a variant has the key.
func (f *field) of(word string) bool { return f.variant == "" || f.variant == word }

// find is the field of a key in a variant, and whether other variants have it.
func (s *structure) find(key, word string) (f *field, elsewhere string) {
	for i := range s.fields {
		c := &s.fields[i]
		if c.key != key {
			continue
		}
		if c.of(word) {
			return c, ""
		}
		elsewhere = c.variant
	}
	return nil, elsewhere
}

// keys lists the keys of a variant in the order of the reference.
func (s *structure) keys(word string) (keys []string) {
	for i := range s.fields {
		if s.fields[i].of(word) {
			keys = append(keys, s.fields[i].key)
		}
	}
	return keys
}

func parseBounds(text string, t reflect.Type) (b bounds) {
	var ok bool
	if b.lowText, b.highText, ok = strings.Cut(text, ".."); !ok {
		return bounds{}
	}
	b.low, b.high = bound(b.lowText, t), bound(b.highText, t)
	return b
}

// bound reads one end of a range that this package itself wrote.
func bound(text string, t reflect.Type) float64 {
	if t == reflect.TypeFor[time.Duration]() {
		d, _ := time.ParseDuration(text)
		return float64(d)
	}
	v, _ := strconv.ParseFloat(text, 64)
	return v
}

// holds reports whether a value is in the range.
func (b *bounds) holds(v float64) bool {
	return (b.lowText == "" || v >= b.low) && (b.highText == "" || v <= b.high)
}

// check says what is wrong with a value, or "".
func (b *bounds) check(v float64, shown string) string {
	if b.holds(v) {
		return ""
	}
	return allowed(shown+" is out of range", b.String())
}

// wrongLength says what is wrong with the length of a list or mapping, or "".
func (f *field) wrongLength(n int) string {
	if f.items.holds(float64(n)) {
		return ""
	}
	return allowed(fmt.Sprintf("has %d entries", n), f.items.String())
}

// String is the range for a person, or "".
func (b *bounds) String() string {
	switch {
	case b.lowText == "" && b.highText == "":
		return ""
	case b.highText == "":
		return b.lowText + " or more"
	case b.lowText == "":
		return "up to " + b.highText
	case b.lowText == b.highText:
		return b.lowText
	}
	return fmt.Sprintf("%s to %s", b.lowText, b.highText)
}

// number is the value that a range is about, and how it is shown.
func number(v reflect.Value) (float64, string) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return float64(v.Int()), v.Interface().(time.Duration).String()
	case v.CanInt():
		return float64(v.Int()), strconv.FormatInt(v.Int(), 10)
	case v.CanFloat():
		return v.Float(), strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return 0, ""
}
