package config

import (
	"errors"
	"reflect"
	"testing"
)

// FuzzParse holds that any input is either refused with problems that say
// something, or is a file that is valid, means the same when it is read again,
// and is one that the schema accepts too.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"good/*.yml", "faults/*.yml"} {
		for _, file := range fixtures(f, pattern) {
			f.Add(read1(f, file))
		}
	}
	f.Add(DefaultYAML())
	schema := compiledSchema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz.yml", data)
		if err != nil {
			problems, ok := errors.AsType[Errors](err)
			if !ok || len(problems) == 0 || file != nil {
				t.Fatalf("not an Errors, or empty, or with a file: %v", err)
			}
			for _, p := range problems {
				if p.Message == "" || p.File != "fuzz.yml" || p.Line < 0 || p.Line > 0 && p.Column < 1 {
					t.Fatalf("%+v says too little", p)
				}
			}
			return
		}
		if err := file.Validate(); err != nil {
			t.Fatalf("accepted, and not valid: %v", err)
		}
		again, err := Parse("fuzz.yml", data)
		if err != nil || !reflect.DeepEqual(again, file) {
			t.Fatalf("read again, it is another: %v", err)
		}
		if valid, ok := schemaAccepts(schema, data); ok && valid != nil && !reflect.DeepEqual(file, Default()) {
			t.Fatalf("the loader accepts what the schema refuses: %v", valid)
		}
	})
}
