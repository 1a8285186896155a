package priority_test

import (
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/priority"
)

func compile(t testing.TB, patterns []string, base priority.Class, rules ...priority.Rule) *priority.Rules {
	t.Helper()
	table, err := match.NewTable(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := priority.NewRules(table, base, rules...)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestTheFirstRuleThatMeansARequestCounts(t *testing.T) {
	rules := compile(t, []string{"/v1/charges", "/v1/"}, priority.Low,
		priority.Rule{Class: priority.Low, Match: match.Rule{Header: map[string]string{"X-Mode": "test"}}},
		priority.Rule{Class: priority.High, Match: match.Rule{Path: "/v1/charges"}, Callers: []string{"acme", "emca"}},
		priority.Rule{Class: priority.Critical, Match: match.Rule{Path: "/v1/charges", Methods: []string{"POST"}}},
		priority.Rule{Class: priority.Normal, Match: match.Rule{Path: "/v1/"}},
	)
	for _, c := range []struct {
		method, path, caller, mode string
		want                       priority.Class
	}{
		{"POST", "/v1/charges", "", "", priority.Critical},
		{"POST", "/v1/charges", "acme", "", priority.High},
		{"POST", "/v1/charges", "emca", "test", priority.Low},
		{"GET", "/v1/charges", "", "", priority.Normal}, // of the wider pattern
		{"GET", "/v1/refunds", "acme", "", priority.Normal},
		{"GET", "/other", "acme", "", priority.Low}, // no rule: the base
	} {
		s := match.Subject{Method: c.method, Path: c.path, Header: http.Header{"X-Mode": {c.mode}}}
		if got := rules.Classify(&s, c.caller); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestFaultyRulesAreAllNamed(t *testing.T) {
	table, err := match.NewTable("/x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = priority.NewRules(table, priority.Normal,
		priority.Rule{Match: match.Rule{Path: "/y"}}, priority.Rule{Match: match.Rule{Path: "/x"}}, priority.Rule{Match: match.Rule{Methods: []string{"BREW"}}})
	for _, want := range []string{"rules[0]", `"/y"`, "rules[2]", `"BREW"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The index by route changes nothing: the class is that of the first rule that
// means the request, asked one by one.
func TestClassifyIsTheFirstMatch(t *testing.T) {
	patterns := []string{"/a", "/a/{x}", "/b/", "/", "h/a"}
	table, err := match.NewTable(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) priority.Rule {
			r := priority.Rule{Class: rapid.SampledFrom(priority.All[:]).Draw(t, "class")}
			r.Match.Path = rapid.SampledFrom(append(patterns, "")).Draw(t, "path")
			r.Match.Methods = rapid.SampledFrom([][]string{nil, {"GET"}, {"POST", "PUT"}}).Draw(t, "methods")
			r.Callers = rapid.SampledFrom([][]string{nil, {"x"}, {"x", "y"}}).Draw(t, "callers")
			return r
		}), 0, 6).Draw(rt, "rules")
		base := rapid.SampledFrom(priority.All[:]).Draw(rt, "base")
		compiled, err := priority.NewRules(table, base, rules...)
		if err != nil {
			rt.Fatal(err)
		}
		s := match.Subject{
			Method: rapid.SampledFrom([]string{"GET", "POST", "BREW"}).Draw(rt, "method"),
			Host:   rapid.SampledFrom([]string{"h", "g"}).Draw(rt, "host"),
			Path:   rapid.SampledFrom([]string{"/a", "/a/", "/a/1", "/b/1", "/b", "/c"}).Draw(rt, "path"),
		}
		caller := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "caller")
		want := base
		for _, r := range rules {
			m, err := table.Compile(r.Match)
			if err != nil {
				rt.Fatal(err)
			}
			named := len(r.Callers) == 0
			for _, c := range r.Callers {
				named = named || c == caller
			}
			if named && m.Match(&s) {
				want = r.Class
				break
			}
		}
		if got := compiled.Classify(&s, caller); got != want {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestClassifyAllocatesNothing(t *testing.T) {
	rules := compile(t, []string{"/v1/charges"}, priority.Normal,
		priority.Rule{Class: priority.Critical, Match: match.Rule{Path: "/v1/charges", Methods: []string{"POST"}}, Callers: []string{"acme"}})
	if n := testing.AllocsPerRun(100, func() {
		s := match.Subject{Method: "POST", Host: "h:80", Path: "/v1/charges"}
		rules.Classify(&s, "acme")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A claim lowers freely, and raises to the ceiling and no further.
func TestClaims(t *testing.T) {
	for _, ruled := range priority.All {
		for _, claimed := range priority.All {
			for _, ceiling := range priority.All {
				got := priority.Claim(ruled, claimed, ceiling)
				if got > max(ruled, ceiling) || got > claimed {
					t.Errorf("%v by the rules, %v claimed, up to %v: %v", ruled, claimed, ceiling, got)
				}
				if claimed <= max(ruled, ceiling) && got != claimed {
					t.Errorf("%v by the rules, %v claimed, up to %v: %v", ruled, claimed, ceiling, got)
				}
			}
		}
	}
}
