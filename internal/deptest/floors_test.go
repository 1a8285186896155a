package deptest

import (
	"strings"
	"testing"
)

func TestFloorsSayWhy(t *testing.T) {
	if err := Floors.Validate(); err != nil {
		t.Error(err)
	}
}

// TestValidate plants the faults that a table itself can have.
func TestValidate(t *testing.T) {
	table := Table{
		Floors: []Floor{
			{Package: "a/*", Why: "reason", Bans: []Ban{{Import: "net"}}},
			{Package: "a/b", Why: "reason"},
			{Package: "c"},
		},
		Exclusive: []Exclusive{{Import: "x"}},
	}
	text := table.Validate().Error()
	for _, want := range []string{"a/* bans net without", "a/b stands behind a/*", "c gives no reason", "x is exclusive without"} {
		if !strings.Contains(text, want) {
			t.Errorf("not found: %s, in:\n%s", want, text)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		imported, prefix string
		want             bool
	}{
		{"net", "net", true},
		{"net/http", "net", true},
		{"network", "net", false},
		{"github.com/redis/go-redis/v9", "github.com/redis/go-redis", true},
		{"github.com/redis/go-redis-fork", "github.com/redis/go-redis", false},
		{"go.opentelemetry.io/otel", "go.opentelemetry.io/", true},
	} {
		if got := below(c.imported, c.prefix); got != c.want {
			t.Errorf("below(%q, %q) = %v", c.imported, c.prefix, got)
		}
	}
}
