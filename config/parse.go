package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxSize bounds a file: far above any that a person writes, far below what
// would hurt to read.
const maxSize = 4 << 20

// Load reads a file. overlays, such as Environment, change it before it is
// validated as a whole; see Parse for the error.
func Load(path string, overlays ...Overlay) (*File, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data, overlays)
}

// read is the content of a file of bounded size.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: load: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("config: load: %w", err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("config: load %s: larger than %d bytes", path, maxSize)
	}
	return data, nil
}

// Parse reads the content of a file; name is what its problems are reported
// under. The error is an Errors with every problem. No data at all, or
// comments alone, is the built-in configuration.
func Parse(name string, data []byte) (*File, error) { return parse(name, data, nil) }

func parse(name string, data []byte, overlays []Overlay) (*File, error) {
	root, problems := document(name, data)
	if problems != nil {
		return nil, problems
	}
	d := &decoder{file: name, places: map[string]place{}}
	f := &File{Version: 1}
	d.defaults(reflect.ValueOf(f).Elem())
	if root != nil {
		d.value(root, reflect.ValueOf(f).Elem(), "", nil)
	}
	f.complete()
	problems = d.problems
	for _, overlay := range overlays {
		problems = append(problems, overlay(f)...)
	}
	problems = append(problems, f.validate(&source{name, d.places}, problems)...)
	if err := problems.sorted().asError(); err != nil {
		return nil, err
	}
	return f, nil
}

// document is the one document of a file, or nil if there is none.
func document(name string, data []byte) (*yaml.Node, Errors) {
	if !utf8.Valid(data) {
		return nil, Errors{{File: name, Message: "is not UTF-8 text"}}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, syntax(name, err)
	}
	var first, second yaml.Node
	if err := loader.Load(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntax(name, err)
	}
	if err := loader.Load(&second); err == nil {
		const message = "a second document begins here; a configuration is one document"
		return nil, Errors{{File: name, Line: second.Line, Column: second.Column, Message: message}}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntax(name, err)
	}
	return content(&first), nil
}

// content is what stands in a document; nil if that is nothing.
func content(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Value == "" && root.ShortTag() == "!!null" {
		return nil
	}
	return root
}

// syntax is the one problem of a file that is no YAML.
func syntax(name string, err error) Errors {
	p := Problem{File: name, Message: "is not YAML: " + err.Error()}
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		p.Line, p.Column = e.Mark.Line, max(e.Mark.Column, 1)
		p.Message = "is not YAML: " + e.Message
	}
	return Errors{p}
}
