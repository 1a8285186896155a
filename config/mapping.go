package config

import (
	"fmt"
	"iter"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// variantKey is the key whose word says which other keys there are.
const variantKey = "stage"

// pairs yields the keys and values of a mapping, each key once.
func (d *decoder) pairs(n *yaml.Node, path string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]*yaml.Node{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch {
			case key.Kind != yaml.ScalarNode:
				d.fault(key, path, "a key must be a word, got "+kindOf(key))
				continue
			case key.ShortTag() == "!!merge":
				d.fault(key, path, "merge keys (<<) are not supported; write the keys out")
				continue
			case mustBeText(key) != nil:
				d.fault(key, join(path, key.Value), mustBeText(key).Error())
				continue
			case seen[key.Value] != nil:
				first := seen[key.Value]
				d.fault(key, join(path, key.Value), fmt.Sprintf("given twice, first on line %d", first.Line))
				continue
			}
			seen[key.Value] = key
			if !yield(key, value) {
				return
			}
		}
	}
}

// mapping decodes the keys of a struct.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "must be a mapping, got "+kindOf(n))
		return
	}
	s := structureOf(v.Type())
	word, known := d.variantOf(n, v, path, s)
	if !known {
		return
	}
	given := map[string]bool{}
	for key, value := range d.pairs(n, path) {
		f, elsewhere := s.find(key.Value, word)
		if f == nil {
			d.unknown(key, path, s, word, elsewhere)
			continue
		}
		given[f.key] = true
		d.value(value, v.FieldByIndex(f.index), join(path, f.key), f)
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.required && !given[f.key] && f.of(word) {
			d.fault(n, path, f.key+" is missing")
		}
	}
}

// variantOf finds out which keys a mapping has, and makes room for them.
// known is false when that cannot be said; then the fault is noted.
func (d *decoder) variantOf(n *yaml.Node, v reflect.Value, path string, s *structure) (word string, known bool) {
	if len(s.variants) == 0 {
		return "", true
	}
	at, word := wordOf(n)
	for _, variant := range s.variants {
		if variant.word == word {
			part := v.FieldByIndex(variant.index)
			part.Set(reflect.New(part.Type().Elem()))
			d.defaults(part.Elem())
			return word, true
		}
	}
	d.noVariant(at, n, path, s)
	return "", false
}

// wordOf is the value of the key that says which other keys there are; at is
// nil when it is missing.
func wordOf(n *yaml.Node) (at *yaml.Node, word string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == variantKey {
			return n.Content[i+1], n.Content[i+1].Value
		}
	}
	return nil, ""
}

func (d *decoder) noVariant(at, n *yaml.Node, path string, s *structure) {
	var words []string
	for _, v := range s.variants {
		words = append(words, v.word)
	}
	if at == nil || at.Kind != yaml.ScalarNode {
		d.fault(n, path, allowed(variantKey+" is missing", list(words)))
		return
	}
	d.fault(at, join(path, variantKey), allowed(fmt.Sprintf("unknown stage %q%s", at.Value, didYouMean(at.Value, words)), list(words)))
}

func (d *decoder) unknown(key *yaml.Node, path string, s *structure, word, elsewhere string) {
	keys := s.keys(word)
	what := "unknown key" + didYouMean(key.Value, keys)
	if elsewhere != "" {
		what = fmt.Sprintf("is a key of %s, not of %s", elsewhere, word)
	}
	d.fault(key, join(path, key.Value), allowed(what, list(keys)))
}

// defaults fills a value with what absent keys mean.
func (d *decoder) defaults(v reflect.Value) {
	if v.Kind() != reflect.Struct || scalars[v.Type()] != nil {
		return
	}
	s := structureOf(v.Type())
	for i := range s.fields {
		f := &s.fields[i]
		if f.variant != "" {
			continue // filled when the variant is known
		}
		target := v.FieldByIndex(f.index)
		if f.defaultValue != "" {
			setDefault(target, f.defaultValue)
			continue
		}
		d.defaults(target)
	}
}

// setDefault stores a default that this package itself wrote.
func setDefault(v reflect.Value, text string) {
	root := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if strings.ContainsAny(text[:1], "[{\"") {
		var document yaml.Node
		if err := yaml.Load([]byte(text), &document); err != nil {
			return // a test reads every default
		}
		root = document.Content[0]
	}
	d := &decoder{places: map[string]place{}}
	d.value(root, v, "", nil)
}
