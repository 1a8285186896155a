package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

func fixtures(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures %s: %v", pattern, err)
	}
	return files
}

func read1(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Each fault of a configuration has a fixture that is named for it, and the
// messages that a person gets.
func TestEachFaultIsNamed(t *testing.T) {
	files := fixtures(t, "faults/*.yml")
	if len(files) < 50 {
		t.Fatalf("only %d fixtures", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yml"), func(t *testing.T) {
			data := read1(t, file)
			f, err := Parse(filepath.Base(file), data)
			if f != nil {
				t.Error("a file with faults was returned")
			}
			problems, ok := errors.AsType[Errors](err)
			if !ok || len(problems) == 0 {
				t.Fatalf("accepted, or not an Errors: %v", err)
			}
			golden(t, strings.TrimSuffix(file, ".yml")+".golden", err.Error()+"\n")
			for _, p := range problems {
				checkProblem(t, p, data)
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(read1(t, file)); got != want {
		t.Errorf("messages differ from %s\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

var unknownKey = regexp.MustCompile(`([^.\s]+): unknown key(?:[,;]|$)`)

// checkProblem holds that a problem says where it is, and that it is there.
func checkProblem(t *testing.T, p Problem, data []byte) {
	t.Helper()
	if p.Message == "" || p.File == "" {
		t.Errorf("%+v says too little", p)
	}
	lines := bytes.Split(data, []byte("\n"))
	if p.Line == 0 {
		if p.Message != "is not UTF-8 text" {
			t.Errorf("%s has no position", p)
		}
		return
	}
	if p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 {
		t.Errorf("%s points outside the file", p)
		return
	}
	if m := unknownKey.FindStringSubmatch(p.String()); m != nil {
		key := m[1]
		if at := string(lines[p.Line-1][p.Column-1:]); !strings.HasPrefix(strings.Trim(at, `"`), key) {
			t.Errorf("%s points at %q", p, at)
		}
	}
}

// All faults of a file are reported by one reading, in the order of the file.
func TestAllFaultsComeAtOnce(t *testing.T) {
	_, err := Load("testdata/faults/many_faults_at_once.yml")
	problems, _ := errors.AsType[Errors](err)
	if len(problems) != 9 {
		t.Fatalf("got %d problems, want 9:\n%v", len(problems), err)
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Errorf("%s stands behind %s", problems[i], problems[i-1])
		}
	}
}

func TestGoodFilesAreAccepted(t *testing.T) {
	for _, file := range fixtures(t, "good/*.yml") {
		f, err := Load(file)
		if err != nil {
			t.Errorf("%s:\n%v", file, err)
			continue
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%s, validated again:\n%v", file, err)
		}
	}
}

func TestNoFileAtAllIsTheDefault(t *testing.T) {
	want := Default()
	for _, text := range []string{"", "# a comment\n", "\n\n", "---\n", "version: 1\n", string(DefaultYAML())} {
		got, err := Parse("x", []byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%.20q: %v\ngot  %+v\nwant %+v", text, err, got, want)
		}
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	f, err := Load("testdata/good/everything.yml")
	if err != nil {
		t.Fatal(err)
	}
	limits := f.Stages[0].RateLimit.Limits
	slots := f.Stages[2].Concurrency.Limits
	worker := f.Stages[4].WorkerShed
	for i, pair := range [][2]any{
		{f.Listen, Address(":8443")},
		{f.Server.ReadTimeout, 90 * time.Second},
		{f.Proxy.Timeouts.ResponseHeader, time.Duration(0)},
		{f.Store.Budget, 1500 * time.Microsecond},
		{f.Identity.Caller[1], Source("trusted-header:X-User")},
		{f.Priority.Rules[0].Match.Host, Host("api.example.com")},
		{f.Priority.Rules[2].Match.Callers, []Caller{"bob"}},
		{f.Stages[0].OnFault, pipeline.Closed},
		{f.Stages[0].Label(), "limits"},
		{f.Stages[2].Label(), "concurrency"},
		{f.Stages[3].Mode, pipeline.Off},
		{limits[0].Rate, limit.Per(100, time.Second)},
		{limits[0].Cost.Routes["/v1/export/"], int64(50)},
		{limits[0].Match.Classes, []priority.Class{priority.Low, priority.Normal}},
		{limits[0].Overrides[3].Rate, limit.Per(0, time.Second)},
		{limits[1].Key, pipeline.Owner{}},
		{limits[1].Cost.Tokens, int64(2)},
		{limits[2].Key[3], pipeline.OwnerPart{Kind: pipeline.ByHeader, Header: "X-Tenant"}},
		{limits[2].Cost.Header, HeaderName("X-Cost")},
		{limits[3].Algorithm, store.FixedWindow},
		{limits[4].Key, pipeline.Owner{{Kind: pipeline.ByCaller}}},
		{limits[8].Algorithm, store.StrictWindow},
		{limits[9].Delay, int64(8)},
		{limits[10].NoDelay, true},
		{limits[11].Quota, Quota{100_000, limit.Month}},
		{limits[11].Zone.Location().String(), "Europe/Berlin"},
		{limits[11].Overrides[0].Quota, Quota{5_000_000, limit.Month}},
		{limits[12].Zone.Location(), time.UTC},
		{*slots[0].Overrides[2].Max, int64(0)},
		{slots[1].Max, (*int64)(nil)},
		{slots[1].Lease, 10 * time.Second},
		{f.Stages[3].FleetShed.Reserve, 0.0},
		{f.Stages[3].FleetShed.Capacity, Capacity(400)},
		{f.Stages[3].FleetShed.ClassCaps, ClassCaps{High: 0.95, Normal: 0.95, Low: 0.25}},
		{worker.Shares, Shares{0.9, 0.5, 0}},
		{worker.MaxWait, time.Duration(0)},
		{worker.Exempt, []Pattern{"/healthz", "/probe/{name}"}},
		{f.Log.Format, JSON},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("value %d: got %v, want %v", i, pair[0], pair[1])
		}
	}
}

// A list in a file replaces the default list, and an empty one empties it.
func TestListsReplace(t *testing.T) {
	f, err := Load("testdata/good/no_stages.yml")
	if err != nil || len(f.Stages) != 0 || len(f.Priority.Rules) != 0 {
		t.Errorf("%v, stages %v, rules %v", err, f.Stages, f.Priority.Rules)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "config: load: ") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Load("testdata/none.yml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	large := filepath.Join(t.TempDir(), "large.yml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("# x\n"), maxSize/4+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(large); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large file: %v", err)
	}
}

// What a mistaken value drags along is not reported beside it.
func TestOneMistakeIsOneProblem(t *testing.T) {
	for _, text := range []string{
		"version: 1\nstages: [{stage: ratelimit, limits: [{name: a, rate: fast}]}]",
		"version: 1\nstages: [{stage: ratelimit, limits: [{name: a, rate: 1/s, burst: -5}]}]",
		"version: 1\nstages: [{stage: concurrency, limits: [{name: a, max: many}]}]",
		"version: 1\nstages: [{stage: concurrency, limits: [{name: a, max: 1, lease: 1}]}]",
		"version: 1\nlisten: 9901\n",
		"version: 1\npriority: {rules: [{class: low, match: {method: GIT}}, {class: high, match: {method: GOT}}]}",
		"version: 1\nstages: [{stage: workershed, shares: {high: 2}}]",
		"version: 1\nidentity: {caller: [trusted-header:X-A], trusted_proxies: [all]}",
		"version: 1\nserver: {tls: {cert: 1, key: k}}",
	} {
		_, err := Parse("x", []byte(text))
		problems, _ := errors.AsType[Errors](err)
		want := 1 + strings.Count(text, "GOT")
		if len(problems) != want {
			t.Errorf("%s\n%d problems, want %d:\n%v", text, len(problems), want, err)
		}
	}
}

// A file of nothing but faults is refused in moments, and says that it was cut.
func TestCountlessFaultsAreCut(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\npriority:\n  rules:\n")
	for range 5_000 {
		text.WriteString("    - {class: hgih, clas: x}\n")
	}
	_, err := Parse("x", []byte(text.String()))
	problems, _ := errors.AsType[Errors](err)
	if len(problems) < maxProblems || len(problems) > 2*maxProblems+2 || !strings.Contains(err.Error(), "not listed") {
		t.Errorf("%d problems", len(problems))
	}
}
