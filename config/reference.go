package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Reference is docs/configuration.md: each key with its type, default, range,
// meaning and an example, from the types and the schema.
func Reference() []byte {
	r := &reference{seen: map[reflect.Type]string{}, comments: readComments()}
	r.out.WriteString(referenceIntroduction)
	r.environment()
	r.section(reflect.TypeFor[File](), "Top level", "")
	return []byte(r.out.String())
}

// reference writes one section for each mapping of the file.
type reference struct {
	out      strings.Builder
	seen     map[reflect.Type]string // the heading of a section that was written
	comments map[string]comments
}

// comments is what the schema says of a mapping and its keys.
type comments struct {
	Description string `json:"description"`
	Properties  map[string]struct {
		Description string `json:"description"`
	} `json:"properties"`
}

func readComments() map[string]comments {
	var schema struct {
		comments
		Defs map[string]comments `json:"$defs"`
	}
	if err := json.Unmarshal(schemaJSON, &schema); err != nil {
		return nil // a test holds the embedded schema to be JSON
	}
	all := schema.Defs
	all[reflect.TypeFor[File]().Name()] = schema.comments
	// In the schema the keys that all stages have stand with each of them.
	stage := all[reflect.TypeFor[Stage]().Name()]
	stage.Properties = all[reflect.TypeFor[RateLimitStage]().Name()].Properties
	all[reflect.TypeFor[Stage]().Name()] = stage
	return all
}

func (r *reference) environment() {
	names, paths := EnvironmentVariables()
	r.out.WriteString("\n| Variable | Key |\n|---|---|\n")
	for i := range names {
		fmt.Fprintf(&r.out, "| `%s` | `%s` |\n", names[i], paths[i])
	}
}

// child is a mapping that a section leads to.
type child struct {
	t             reflect.Type
	heading, path string
}

// section writes the keys of a struct, and then the sections of those in it.
func (r *reference) section(t reflect.Type, heading, path string) {
	r.seen[t] = heading
	fmt.Fprintf(&r.out, "\n## %s\n\n%s\n", heading, r.introduction(t))
	s := structureOf(t)
	children := r.table(t, s, path, heading)
	for _, v := range s.variants {
		part := t.FieldByIndex(v.index).Type.Elem()
		children = append(children, child{part, fmt.Sprintf("`%s` of `stage: %s`", path, v.word), path})
	}
	for _, c := range children {
		if _, written := r.seen[c.t]; !written {
			r.section(c.t, c.heading, c.path)
		}
	}
}

// introduction is the comment of a type without its Go name.
func (r *reference) introduction(t reflect.Type) string {
	text := strings.TrimPrefix(r.comments[t.Name()].Description, t.Name()+" ")
	text = strings.TrimPrefix(text, "is ")
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// table writes one line for each key, and returns the mappings they lead to.
func (r *reference) table(t reflect.Type, s *structure, path, heading string) (children []child) {
	r.out.WriteString("\n| Key | Type | Default | Range | Meaning |\n|---|---|---|---|---|\n")
	for i := range s.fields {
		f := &s.fields[i]
		if f.variant != "" {
			continue
		}
		target := t.FieldByIndex(f.index).Type
		word := typeWord(target, f)
		if c := leadsTo(target, join(path, f.key), heading); c.t != nil {
			children = append(children, c)
			word += r.link(c)
		}
		fmt.Fprintf(&r.out, "| `%s` | %s | %s | %s | %s |\n", f.key, word, f.defaultCell(), f.rangeCell(), r.meaning(t, f))
	}
	return children
}

// leadsTo is the section of the mapping that a key holds, or a list of; none
// when it holds something else.
func leadsTo(t reflect.Type, path, heading string) child {
	if t.Kind() == reflect.Slice {
		t, path = t.Elem(), path+"[]"
	}
	if !isMapping(t) {
		return child{}
	}
	_, stage, _ := strings.Cut(heading, " of ")
	if stage != "" {
		stage = " of " + stage
	}
	return child{t, "`" + path + "`" + stage, path}
}

// isMapping reports whether a type has a section of its own.
func isMapping(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && scalars[t] == nil && t != reflect.TypeFor[Cost]()
}

// link points to a section, or to the first that its type has.
func (r *reference) link(to child) string {
	heading := to.heading
	if first, written := r.seen[to.t]; written {
		heading = first
	}
	return fmt.Sprintf(", see [%s](#%s)", heading, slug(heading))
}

// slug is the anchor that a heading has.
func slug(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		}
		return -1
	}, strings.ToLower(heading))
}

// typeWord says how a value is written.
func typeWord(t reflect.Type, f *field) string {
	if s := scalars[t]; s != nil {
		return s.typeWord()
	}
	switch {
	case t == reflect.TypeFor[Cost]():
		return "number, mapping of paths to numbers, or `{header: Name}`"
	case t == reflect.TypeFor[Capacity]():
		return "`auto` or number"
	case t.Kind() == reflect.Pointer:
		return typeWord(t.Elem(), f)
	case t.Kind() == reflect.Slice:
		return listWord(t.Elem(), f)
	case t.Kind() == reflect.Map:
		return "mapping of " + typeWord(t.Key(), f) + " to " + typeWord(t.Elem(), f)
	}
	return plainWords[t.Kind()]
}

var plainWords = map[reflect.Kind]string{
	reflect.Struct: "mapping", reflect.Bool: "`true` or `false`", reflect.String: "text",
	reflect.Float64: "decimal number", reflect.Int: "whole number", reflect.Int64: "whole number",
}

func (s *scalar) typeWord() string {
	if len(s.enum) > 0 {
		return "`" + strings.Join(s.enum, "`, `") + "`"
	}
	return s.word
}

func listWord(element reflect.Type, f *field) string {
	switch {
	case f.single:
		return "one or a list of: " + typeWord(element, f)
	case isMapping(element):
		return "list of mappings"
	}
	return "list of " + typeWord(element, f)
}

func (f *field) defaultCell() string {
	switch {
	case f.required:
		return "**required**"
	case f.defaultValue != "":
		return code(f.defaultValue)
	case f.absent != "":
		return f.absent
	}
	return "those of its keys"
}

func (f *field) rangeCell() string {
	if f.items != (bounds{}) {
		return f.items.String() + " entries"
	}
	return f.bounds.String()
}

func (r *reference) meaning(t reflect.Type, f *field) string {
	text := r.comments[t.Name()].Properties[f.key].Description
	if f.example != "" {
		text += " Example: " + code(f.key+": "+f.example) + "."
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

func code(text string) string { return "`" + text + "`" }
