package config

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write generated and golden files")

// The files that are made of the types are as the types are now.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	schemaJSON = current(t, "schema.json", generateSchema(t))
	current(t, "../docs/configuration.md", Reference())
}

// current compares a file with what it should hold, or writes it.
func current(t *testing.T, file string, want []byte) []byte {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say; run go generate ./config", file)
	}
	return want
}
