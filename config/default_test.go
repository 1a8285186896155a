package config

import (
	"reflect"
	"strings"
	"testing"
)

// Every default in a tag is a value of its field, in its range.
func TestEveryDefaultTagIsRight(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(s reflect.Type) {
		if s.Kind() == reflect.Slice || s.Kind() == reflect.Pointer {
			walk(s.Elem())
			return
		}
		if !isMapping(s) || seen[s] {
			return
		}
		seen[s] = true
		for _, f := range structureOf(s).fields {
			target := s
			for _, i := range f.index {
				if target.Kind() == reflect.Pointer {
					target = target.Elem()
				}
				target = target.Field(i).Type
			}
			walk(target)
			if f.defaultValue == "" {
				continue
			}
			v := reflect.New(target).Elem()
			problems := defaultProblems(v, &f)
			if len(problems) != 0 {
				t.Errorf("%s.%s: default %s: %v", s.Name(), f.key, f.defaultValue, problems)
			}
		}
	}
	walk(reflect.TypeFor[File]())
	if len(seen) < 20 {
		t.Errorf("only %d mappings were walked", len(seen))
	}
}

// defaultProblems reads a default as if it stood in a file.
func defaultProblems(v reflect.Value, f *field) Errors {
	root, problems := document("default", []byte(f.defaultValue))
	if problems != nil {
		return problems
	}
	d := &decoder{places: map[string]place{}}
	d.value(root, v, f.key, f)
	return d.problems
}

// The stages of the built-in configuration say what absent keys mean.
func TestDefaultStagesAreTheDefaultsOfStages(t *testing.T) {
	f, err := Parse("x", []byte(`
version: 1
stages:
  - {stage: ratelimit, limits: [{name: a, rate: 1/s}]}
  - {stage: concurrency, limits: [{name: a, max: 1}]}
  - {stage: fleetshed}
  - {stage: workershed}
`))
	if err != nil {
		t.Fatal(err)
	}
	d := Default()
	for i := range d.Stages {
		if got, want := d.Stages[i].Mode, f.Stages[i].Mode; got != want {
			t.Errorf("stage %d: mode %v, absent means %v", i, got, want)
		}
		if got, want := d.Stages[i].OnFault, f.Stages[i].OnFault; got != want {
			t.Errorf("stage %d: on_fault %v, absent means %v", i, got, want)
		}
	}
	if got, want := d.Stages[2].FleetShed, f.Stages[2].FleetShed; !reflect.DeepEqual(got, want) {
		t.Errorf("fleetshed is %+v, absent means %+v", got, want)
	}
	worker := *d.Stages[3].WorkerShed
	worker.MaxStreams = 0 // follows max_in_flight when absent
	if !reflect.DeepEqual(&worker, f.Stages[3].WorkerShed) {
		t.Errorf("workershed is %+v, absent means %+v", worker, f.Stages[3].WorkerShed)
	}
}

// The built-in configuration shows every key that has a default, except those
// of entries that a user adds.
func TestDefaultYAMLShowsEveryKey(t *testing.T) {
	text := string(DefaultYAML())
	var walk func(s reflect.Type)
	walk = func(s reflect.Type) {
		for _, f := range structureOf(s).fields {
			if f.variant == "" && isMapping(s.FieldByIndex(f.index).Type) {
				walk(s.FieldByIndex(f.index).Type)
			}
			if f.defaultValue != "" && !strings.Contains(text, f.key+":") {
				t.Errorf("%s of %s is not shown", f.key, s.Name())
			}
		}
	}
	for _, s := range []reflect.Type{
		reflect.TypeFor[File](), reflect.TypeFor[Stage](), reflect.TypeFor[FleetShedStage](), reflect.TypeFor[WorkerShedStage](),
	} {
		walk(s)
	}
}

// Whoever changes one File changes no other.
func TestDefaultsAreNotShared(t *testing.T) {
	a := Default()
	a.Stages[0].RateLimit.Limits[0].Burst = 1
	a.Identity.Caller[0] = "address"
	if b := Default(); b.Stages[0].RateLimit.Limits[0].Burst == 1 || b.Identity.Caller[0] == "address" {
		t.Error("a change of one default shows in another")
	}
}
