package config

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// beyondSchema names the faults that a JSON Schema cannot say, or cannot see
// because a reader of YAML hides them from it, and why.
var beyondSchema = map[string]string{
	"adaptive_cap_upside_down":       "compares two values",
	"admin_certificates":             "depends on another key",
	"admin_in_the_open":              "depends on another key",
	"algorithm_cannot":               "depends on the algorithm",
	"ambiguous_limit":                "says which keys exclude each other",
	"anchor_and_alias":               "readers of YAML resolve them",
	"burst_too_long_to_count":        "arithmetic of two values",
	"cost_never_payable":             "compares two values",
	"caller_that_anybody_can_claim":  "depends on another key",
	"caller_by_address_beside_a_key": "depends on another key",
	"duplicate_header":               "names of headers know no case",
	"duplicate_key":                  "readers of YAML refuse it first",
	"explicit_tag":                   "readers of YAML resolve them",
	"lease_too_short":                "compares durations",
	"listeners_collide":              "compares two values",
	"merge_key":                      "readers of YAML resolve them",
	"not_utf8":                       "readers of YAML refuse it first",
	"not_yaml":                       "readers of YAML refuse it first",
	"overlapping_paths":              "compares values",
	"rate_missing":                   "depends on another key",
	"redis_beside_memory":            "depends on another key",
	"redis_cannot_keep":              "arithmetic of a driver",
	"redis_cannot_count":             "depends on another key",
	"redis_credentials_twice":        "says which keys exclude each other",
	"redis_database_of_cluster":      "depends on another key",
	"redis_database_twice":           "compares two values",
	"redis_dsn_database":             "the parts of a URL",
	"redis_dsn_query":                "the parts of a URL",
	"redis_named_twice":              "says which keys exclude each other",
	"redis_sentinel_by_dsn":          "depends on another key",
	"redis_sentinel_settings":        "depends on another key",
	"redis_sentinel_without_master":  "depends on another key",
	"redis_several_servers":          "depends on another key",
	"redis_socket_of_cluster":        "depends on another key",
	"redis_tls_half":                 "depends on another key",
	"redis_tls_on_socket":            "depends on another key",
	"redis_tls_twice":                "depends on another key",
	"redis_tls_without_effect":       "depends on another key",
	"rule_never_counts":              "compares values",
	"same_name_twice":                "compares values",
	"shares_upside_down":             "compares values",
	"shedder_twice":                  "counts kinds in a list",
	"tab_indent":                     "readers of YAML refuse it first",
	"tls_half":                       "depends on another key",
	"two_cost_headers":               "compares two values",
	"everything_exempt":              "says what may not be empty",
	"ramp_upside_down":               "compares durations",
	"subject_without_certificates":   "depends on another key",
	"upstream_port":                  "the bounds of a number within a text",
	"two_documents":                  "readers of YAML refuse it first",
	"waiting_stage_not_last":         "order of a list",
	"window_with_burst":              "depends on another key",
}

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.json") // also checks it against the meta-schema
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemaAccepts is what an editor would say of a file. ok is false when its
// reader of YAML already gives up.
func schemaAccepts(s *jsonschema.Schema, data []byte) (valid error, ok bool) {
	var v any
	if err := yaml.Load(data, &v); err != nil {
		return nil, false
	}
	return s.Validate(v), true
}

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	s := compiledSchema(t)
	for _, file := range append(fixtures(t, "good/*.yml"), "default.yaml") {
		data := read1(t, file)
		if valid, ok := schemaAccepts(s, data); ok && valid != nil && !isEmpty(file) {
			t.Errorf("%s: %v", file, valid)
		}
	}
}

// isEmpty reports whether a fixture is a file without a document, which the
// loader takes for the built-in configuration and a schema has no word for.
func isEmpty(file string) bool {
	return strings.HasPrefix(filepath.Base(file), "empty") || strings.HasPrefix(filepath.Base(file), "comments_only")
}

// The schema refuses what the loader refuses, wherever it can say so; the list
// of what it cannot say is itself held to be true.
func TestSchemaRefusesStructuralFaults(t *testing.T) {
	s := compiledSchema(t)
	for _, file := range fixtures(t, "faults/*.yml") {
		name := strings.TrimSuffix(filepath.Base(file), ".yml")
		valid, ok := schemaAccepts(s, read1(t, file))
		_, beyond := beyondSchema[name]
		refuses := ok && valid != nil
		if refuses == beyond {
			t.Errorf("%s: the schema refuses it: %v; beyond what a schema can say: %v", name, refuses, beyond)
		}
	}
}
