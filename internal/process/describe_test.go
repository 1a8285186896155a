package process

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/config"
)

func TestTheStartSaysWhatProtectsWhat(t *testing.T) {
	r := start(t, "", hello)
	get(t, r.url) // it serves, so it has said it
	for _, part := range []string{
		"plimsoll v0 protects http://127.0.0.1:", "listening on " + strings.TrimPrefix(r.url, "http://"), r.side,
		"configuration: built-in", "store: memory",
		"1 ratelimit     enforce  on fault: local   per-caller 100/s, per-address 5000/s",
		"2 concurrency   enforce  on fault: local   per-caller 20 in flight",
		"4 workershed    enforce  on fault: local   200 in flight",
		"no rule makes a request critical",
	} {
		if !strings.Contains(r.log.String(), part) {
			t.Errorf("the start does not say %q:\n%s", part, r.log)
		}
	}
}

func TestInJSONEveryLineIsARecord(t *testing.T) {
	r := start(t, file(t, "version: 1\nlog: {format: json}\n"), hello)
	get(t, r.url)
	lines := strings.Split(strings.TrimSpace(r.log.String()), "\n")
	if len(lines) < 8 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestTheStartSaysHowIsCounted(t *testing.T) {
	f, err := config.Parse("test", []byte(`
version: 1
stages:
  - stage: ratelimit
    limits:
      - {name: a, rate: 5/s}
      - {name: b, rate: 5/min, algorithm: strict-window}
      - {name: c, quota: 100/month, zone: Europe/Berlin}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := limitsOf(&f.Stages[0]), "a 5/s, b 5/min strict-window, c 100/month in Europe/Berlin"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatIsUnlimitedIsSaidToBe(t *testing.T) {
	f, err := config.Parse("test", []byte(`
version: 1
stages:
  - {stage: ratelimit, limits: [{name: a, unlimited: true}]}
  - {stage: concurrency, limits: [{name: b, unlimited: true}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a unlimited", "b unlimited"} {
		if got := limitsOf(&f.Stages[i]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	const critical = "priority: {rules: [{class: critical, match: {path: /pay}}]}\n"
	for text, want := range map[string]string{
		"":                                "no rule makes a request critical",
		critical:                          "",
		"priority: {default: critical}\n": "",
		critical + "stages: [{stage: workershed, mode: shadow}]\n":                     "in mode shadow",
		critical + "stages: [{stage: workershed, mode: off}]\n":                        "in mode off",
		critical + "stages: [{stage: workershed, on_fault: open}]\n":                   "admits everything",
		critical + "admin: {listen: 0.0.0.0:9901, beyond_loopback: true}\n":            "other machines",
		critical + "upstream: https://127.0.0.1:1\nproxy: {tls: {unverified: true}}\n": "not verified",
		"stages: [{stage: fleetshed, reserve: 0}]\n":                                   "",
	} {
		f, err := config.Parse("test", []byte("version: 1\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		got := Warnings(f)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("for %q the warnings are %q, want %q", text, got, want)
		}
	}
}
