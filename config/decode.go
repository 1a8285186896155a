package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoder turns nodes into values of this package's types. It goes on after a
// fault, so that one reading finds them all.
type decoder struct {
	file     string
	problems Errors
	places   map[string]place // path → where its value stands
}

// place is a position in the file, from 1.
type place struct{ line, column int }

// decodes is a type with a form of its own, such as "a number or a mapping".
type decodes interface {
	decode(d *decoder, n *yaml.Node, path string)
}

func (d *decoder) fault(n *yaml.Node, path, message string) {
	d.problems.add(Problem{File: d.file, Line: n.Line, Column: n.Column, Path: path, Message: message})
}

// value decodes a node into v, which may hold a default.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, f *field) {
	d.places[path] = place{n.Line, n.Column}
	if !d.supported(n, path) {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if custom, ok := reflect.TypeAssert[decodes](v.Addr()); ok {
		custom.decode(d, n, path)
		return
	}
	d.byType(n, v, path, f)
}

// byType decodes a node in the form that the type of v has.
func (d *decoder) byType(n *yaml.Node, v reflect.Value, path string, f *field) {
	if s := scalars[v.Type()]; s != nil {
		d.word(n, v, path, s, f)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, path, f)
	case reflect.Map:
		d.table(n, v, path, f)
	default:
		d.plain(n, v, path, f)
	}
}

// supported refuses what has more than one reading, or none.
func (d *decoder) supported(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fault(n, path, "anchors and aliases are not supported; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		d.fault(n, path, "tags such as "+n.Tag+" are not supported; leave the tag away")
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		d.fault(n, path, "has no value; give one, or leave the key away to have the default")
	default:
		return true
	}
	return false
}

// word decodes a type that is written as one word.
func (d *decoder) word(n *yaml.Node, v reflect.Value, path string, s *scalar, f *field) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, path, allowed(fmt.Sprintf("must be one value, got %s", kindOf(n)), s.right))
		return
	}
	parsed, err := s.parse(n.Value)
	if err == nil {
		err = mustBeText(n)
	}
	if err != nil {
		d.fault(n, path, allowed(err.Error(), s.right))
		return
	}
	v.Set(reflect.ValueOf(parsed))
	d.inBounds(n, v, path, f)
}

func (d *decoder) plain(n *yaml.Node, v reflect.Value, path string, f *field) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, path, fmt.Sprintf("must be one value, got %s", kindOf(n)))
		return
	}
	if err := setPlain(v, n); err != nil {
		message := err.Error()
		if f != nil {
			message = allowed(message, f.bounds.String())
		}
		d.fault(n, path, message)
		return
	}
	d.inBounds(n, v, path, f)
}

func (d *decoder) inBounds(n *yaml.Node, v reflect.Value, path string, f *field) {
	if f == nil {
		return
	}
	if amount, shown := number(v); shown != "" {
		if wrong := f.bounds.check(amount, shown); wrong != "" {
			d.fault(n, path, wrong)
		}
	}
}

// sequence decodes a list, or its one element where that is allowed.
func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string, f *field) {
	single := f != nil && f.single && n.Kind == yaml.ScalarNode
	if n.Kind != yaml.SequenceNode && !single {
		d.fault(n, path, "must be a list, got "+kindOf(n))
		return
	}
	if single {
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		d.value(n, v.Index(0), path, f.element())
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.defaults(v.Index(i))
		d.value(item, v.Index(i), path+"["+strconv.Itoa(i)+"]", f.element())
	}
	d.count(n, len(n.Content), path, f)
}

// table decodes a mapping whose keys the user chooses.
func (d *decoder) table(n *yaml.Node, v reflect.Value, path string, f *field) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "must be a mapping, got "+kindOf(n))
		return
	}
	m := reflect.MakeMap(v.Type())
	for key, item := range d.pairs(n, path) {
		at := join(path, key.Value)
		if s := scalars[v.Type().Key()]; s != nil {
			if _, err := s.parse(key.Value); err != nil {
				d.fault(key, at, allowed(err.Error(), s.right))
				continue
			}
		}
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(item, element, at, f.element())
		m.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), element)
	}
	v.Set(m)
	d.count(n, len(n.Content)/2, path, f)
}

func (d *decoder) count(n *yaml.Node, length int, path string, f *field) {
	if f == nil {
		return
	}
	if wrong := f.wrongLength(length); wrong != "" {
		d.fault(n, path, wrong)
	}
}

// element is what the tags of a list say of its elements.
func (f *field) element() *field {
	if f == nil {
		return nil
	}
	return &field{key: f.key, bounds: f.bounds}
}

var kinds = map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}

// kindOf says what stands in the place of something else.
func kindOf(n *yaml.Node) string {
	if word, ok := kinds[n.Kind]; ok {
		return word
	}
	return repeated(n.Value)
}

// repeated is a value in quotes, unless it is a URL, which may hold a password.
func repeated(text string) string {
	if strings.Contains(text, "://") {
		return "a URL"
	}
	return strconv.Quote(text)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
