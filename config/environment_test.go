package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func environment(pairs ...string) Overlay {
	return Environment(func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	})
}

func TestEnvironmentOverridesTheFile(t *testing.T) {
	f, err := Load("testdata/good/issue.yml", environment(
		"PLIMSOLL_LISTEN", ":80", "PLIMSOLL_UPSTREAM", "http://10.0.0.7", "PLIMSOLL_ADMIN_LISTEN", "localhost:1",
		"PLIMSOLL_LOG_LEVEL", "debug"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Listen != ":80" || f.Upstream != "http://10.0.0.7" || f.Admin.Listen != "localhost:1" || f.Log.Level != slog.LevelDebug {
		t.Errorf("got %+v", f)
	}
}

func TestEmptyVariablesAreNotSet(t *testing.T) {
	f, err := Load("testdata/good/issue.yml", environment("PLIMSOLL_LISTEN", ""))
	if err != nil || f.Listen != "127.0.0.1:8080" {
		t.Errorf("%v, listen %s", err, f.Listen)
	}
}

// Faults of variables stand beside those of the file, under the variable's name.
func TestFaultsOfVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yml")
	if err := os.WriteFile(file, []byte("version: 1\nlog: {format: xml}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(file, environment("PLIMSOLL_LISTEN", "80", "PLIMSOLL_LOG_LEVEL", "loud"))
	problems, _ := errors.AsType[Errors](err)
	if len(problems) != 3 || problems[0].File != "environment" || problems[0].Path != "PLIMSOLL_LISTEN" || problems[0].Line != 0 {
		t.Errorf("got:\n%v", err)
	}
}

// What the environment sets is validated with the rest: the admin listener
// cannot be opened from there.
func TestTheWholeIsValidated(t *testing.T) {
	_, err := Load("testdata/good/issue.yml", environment("PLIMSOLL_ADMIN_LISTEN", "0.0.0.0:9901"))
	if err == nil || !strings.Contains(err.Error(), "admin.beyond_loopback") {
		t.Errorf("got %v", err)
	}
}

// Policy is the file's alone, and Kubernetes' own variables are nobody's.
func TestEnvironmentIsAShortList(t *testing.T) {
	names, paths := EnvironmentVariables()
	for _, path := range paths {
		if !slices.Contains([]string{"listen", "upstream", "admin.listen", "log.level",
			"store.redis.dsn", "store.redis: the password", "store.redis: the sentinels' password"}, path) {
			t.Errorf("%s comes from the environment", path)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "PLIMSOLL_PORT") || strings.HasPrefix(name, "PLIMSOLL_SERVICE") {
			t.Errorf("%s is a name that Kubernetes sets", name)
		}
	}
}
