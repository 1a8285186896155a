package config

import (
	_ "embed"
	"slices"
)

//go:embed default.yaml
var defaultYAML []byte

// DefaultYAML is the built-in configuration with a comment on every key. What
// it holds is Default.
func DefaultYAML() []byte { return slices.Clone(defaultYAML) }

// Default is the built-in configuration, a new one at each call: the embedded
// store, four stages, and limits that a service on one machine can live with.
func Default() *File {
	f, err := Parse("default.yaml", defaultYAML)
	if err != nil {
		return nil // a test holds the embedded file to be right
	}
	return f
}

// complete gives a file without stages those of the built-in configuration.
// Everything else has its default in the tags of its field.
func (f *File) complete() {
	if f.Stages == nil {
		f.Stages = Default().Stages
	}
}
