package config

import (
	_ "embed"
	"slices"
)

//go:generate go test -run ^TestGenerated -update .

//go:embed schema.json
var schemaJSON []byte

// Schema is the JSON Schema (draft 2020-12) of the file, for editors and for
// checks elsewhere. What it allows, Parse may still refuse: a schema cannot
// say that names are unique or that paths do not overlap.
func Schema() []byte { return slices.Clone(schemaJSON) }
