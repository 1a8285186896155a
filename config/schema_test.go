package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"
)

const packagePath = "github.com/plimsoll-go/plimsoll/config"

// generateSchema makes the JSON Schema of the types and their comments. It is
// a test's work, so that the command carries neither the generator nor a
// parser of Go.
func generateSchema(t testing.TB) []byte {
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", ExpandedStruct: true, Anonymous: true, RequiredFromJSONSchemaTags: true,
		Mapper: mapType,
	}
	if err := r.AddGoComments(packagePath, ".", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	root := r.Reflect(&File{})
	root.ID = "https://raw.githubusercontent.com/plimsoll-go/plimsoll/main/config/schema.json"
	root.Title = "Plimsoll configuration"
	annotate(root, reflect.TypeFor[File](), root.Definitions, map[string]bool{})
	splitVariants(root.Definitions, reflect.TypeFor[Stage]())
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// mapType is the schema of types that the file writes in a form of their own.
func mapType(t reflect.Type) *jsonschema.Schema {
	if s := scalars[t]; s != nil {
		return s.schema()
	}
	number := &jsonschema.Schema{Type: "integer", Minimum: "1", Maximum: "1000000000"}
	switch t {
	case reflect.TypeFor[Cost]():
		header := jsonschema.NewProperties()
		header.Set(costHeader, scalars[reflect.TypeFor[HeaderName]()].schema())
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			number,
			{Type: "object", Properties: header, Required: []string{costHeader}, AdditionalProperties: jsonschema.FalseSchema},
			{
				Type: "object", MinProperties: new(uint64(1)), PropertyNames: scalars[reflect.TypeFor[Pattern]()].schema(),
				AdditionalProperties: &jsonschema.Schema{Type: "integer", Minimum: "0", Maximum: "1000000000"},
			},
		}}
	case reflect.TypeFor[Capacity]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Const: "auto"}, {Type: "number", Minimum: "1", Maximum: "100000000"},
		}}
	}
	return nil
}

func (s *scalar) schema() *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "string", Pattern: s.pattern}
	for _, word := range s.enum {
		schema.Enum = append(schema.Enum, word)
	}
	return schema
}

// annotate adds what the tags of a struct say to its schema, and to those of
// the structs in it.
func annotate(s *jsonschema.Schema, t reflect.Type, defs jsonschema.Definitions, done map[string]bool) {
	s.Description = sentence(s.Description)
	for _, f := range structureOf(t).fields {
		if f.variant != "" {
			continue
		}
		property, _ := s.Properties.Get(f.key)
		target := t.FieldByIndex(f.index).Type
		f.annotate(property, target)
		if f.required {
			s.Required = append(s.Required, f.key)
		}
		if f.single {
			s.Properties.Set(f.key, &jsonschema.Schema{
				Description: property.Description, Examples: property.Examples, Extras: property.Extras,
				OneOf: []*jsonschema.Schema{property.Items, {Type: "array", Items: property.Items, MinItems: property.MinItems, MaxItems: property.MaxItems}},
			})
		}
		descend(target, defs, done)
	}
	for _, v := range structureOf(t).variants {
		descend(t.FieldByIndex(v.index).Type, defs, done)
	}
}

// descend annotates the definition of the struct that a type leads to.
func descend(t reflect.Type, defs jsonschema.Definitions, done map[string]bool) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if def := defs[t.Name()]; def != nil && !done[t.Name()] {
		done[t.Name()] = true
		annotate(def, t, defs, done)
	}
}

func (f *field) annotate(s *jsonschema.Schema, t reflect.Type) {
	s.Description = sentence(s.Description)
	s.Default, s.Extras = jsonValue(f.defaultValue), map[string]any{}
	if f.example != "" {
		s.Examples = []any{jsonValue(f.example)}
	}
	if f.absent != "" {
		s.Extras["x-absent"] = f.absent
	}
	switch t.Kind() {
	case reflect.Slice:
		s.MinItems, s.MaxItems = count(f.items.lowText), count(f.items.highText)
	case reflect.Map:
		s.MinProperties, s.MaxProperties = count(f.items.lowText), count(f.items.highText)
		s.PropertyNames = scalars[t.Key()].schema()
	}
	if s.Type == "string" {
		if f.bounds != (bounds{}) {
			s.Extras["x-range"] = f.bounds.String() // of durations; JSON Schema cannot compare them
		}
		return
	}
	s.Minimum, s.Maximum = json.Number(f.bounds.lowText), json.Number(f.bounds.highText)
}

// splitVariants makes one definition for each kind of stage, with the keys
// that all of them have.
func splitVariants(defs jsonschema.Definitions, t reflect.Type) {
	common := defs[t.Name()]
	union := &jsonschema.Schema{Description: common.Description}
	for _, v := range structureOf(t).variants {
		part := t.FieldByIndex(v.index)
		def := defs[part.Type.Elem().Name()]
		own := def.Properties
		def.Properties = jsonschema.NewProperties()
		for p := common.Properties.Oldest(); p != nil; p = p.Next() {
			if f, _ := structureOf(t).find(p.Key, ""); f != nil {
				def.Properties.Set(p.Key, p.Value)
			}
		}
		kind, _ := common.Properties.Get(variantKey)
		def.Properties.Set(variantKey, &jsonschema.Schema{Const: v.word, Description: kind.Description})
		for p := own.Oldest(); p != nil; p = p.Next() {
			def.Properties.Set(p.Key, p.Value)
		}
		def.Required = append([]string{variantKey}, def.Required...)
		union.OneOf = append(union.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + part.Type.Elem().Name()})
	}
	defs[t.Name()] = union
}

func count(text string) *uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func jsonValue(text string) any {
	var v any
	if text == "" || yaml.Load([]byte(text), &v) != nil {
		return nil
	}
	return v
}

func sentence(comment string) string { return strings.Join(strings.Fields(comment), " ") }
