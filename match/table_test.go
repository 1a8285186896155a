package match_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/match"
)

func table(t testing.TB, patterns ...string) *match.Table {
	t.Helper()
	made, err := match.NewTable(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func route(t *match.Table, host, path string) string {
	s := match.Subject{Host: host, Path: path}
	return t.Name(t.Resolve(&s))
}

func TestTheMostSpecificPatternIsTheRoute(t *testing.T) {
	made := table(t, "/", "/v1/charges", "/v1/charges/{id}", "/v1/{kind}/{id}", "/files/", "/files/{name}/meta",
		"api.example.com/v1/charges", "/login", "/dir/", "/a", "/{x}/")
	for _, c := range []struct{ host, path, want string }{
		{"", "/", "/"},
		{"", "", "/"},
		{"", "/v1/charges", "/v1/charges"},
		{"", "/v1/charges/", "/v1/charges"}, // a slash at the end leads nowhere else
		{"", "/v1/charges/17", "/v1/charges/{id}"},
		{"", "/v1/refunds/17", "/v1/{kind}/{id}"},
		{"", "/v1/refunds/17/x", "/{x}/"},
		{"", "/files/a/b/c", "/files/"},
		{"", "/files/a/meta", "/files/{name}/meta"},
		{"", "//login", "/login"},
		{"", "/a/../login", "/login"},
		{"", "/login/.", "/login"},
		{"", "/dir/..", "/"},
		{"", "login", "/login"},
		{"", "/Login", "/"},
		{"", "/dir", "/"}, // a rest begins after a slash
		{"", "/dir/", "/dir/"},
		{"", "/dir/x", "/dir/"},
		{"", "/../../dir/x", "/dir/"},
		{"", "/a", "/a"},
		{"", "/a/", "/{x}/"}, // which means it as it stands
		{"api.example.com", "/v1/charges", "api.example.com/v1/charges"},
		{"API.Example.com:443", "/v1/charges", "api.example.com/v1/charges"},
		{"api.example.com.", "/v1/charges", "api.example.com/v1/charges"}, // the same host
		{"api.example.com.:80", "/v1/charges", "api.example.com/v1/charges"},
		{"www.example.com", "/v1/charges", "/v1/charges"},
		{"api.example.com", "/login", "/login"},
		{"[::1]:80", "/login", "/login"},
	} {
		if got := route(made, c.host, c.path); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.host, c.path, got, c.want)
		}
	}
	if got := route(table(t, "/x"), "", "/y"); got != match.Other {
		t.Errorf("no pattern: %s", got)
	}
	if got := route(table(t), "", "/y"); got != match.Other {
		t.Errorf("no patterns: %s", got)
	}
}

func TestHostsOfPatterns(t *testing.T) {
	made := table(t, "[::1]/x", "h/")
	for host, want := range map[string]string{"[::1]": "[::1]/x", "[::1]:8080": "[::1]/x", "h": "h/", "H:1": "h/", "": match.Other, ".": match.Other} {
		if got := route(made, host, "/x"); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

func TestFaultyPatterns(t *testing.T) {
	for _, c := range []struct{ patterns, want []string }{
		{[]string{"x"}, []string{"must start with /"}},
		{[]string{"GET /x"}, []string{"methods"}},
		{[]string{"{host}/x"}, []string{"wildcards"}},
		{[]string{"/a//b"}, []string{"not a clean path"}},
		{[]string{"/a/../b"}, []string{"not a clean path"}},
		{[]string{"/a/{$}"}, []string{"{$} is not supported"}},
		{[]string{"/{x...}/y"}, []string{"may stand last only"}},
		{[]string{"/a{x}"}, []string{"neither a name nor {name}"}},
		{[]string{"/{}"}, []string{"neither a name nor {name}"}},
		{[]string{"/a*"}, []string{"neither a name nor {name}"}},
		{[]string{"/{a}", "/{b}"}, []string{"mean the same paths"}},
		{[]string{"/a/", "/a/{rest...}"}, []string{"mean the same paths"}},
		{[]string{"/a/{x}", "/{y}/b"}, []string{"neither covers the other"}},
		{[]string{"h/{x}", "/a"}, []string{"neither covers the other"}},
		{[]string{"x", "/a//b"}, []string{"must start with /", "not a clean path"}},
	} {
		_, err := match.NewTable(c.patterns...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", c.patterns, err, want)
			}
		}
	}
	if got := table(t, "/b", "/a", "/b").Patterns(); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("%q", got)
	}
}

// A subject is looked up again in another table, and not in the same one.
func TestASubjectRemembersItsRoute(t *testing.T) {
	a, b := table(t, "/x"), table(t, "/{any}")
	s := match.Subject{Path: "/x"}
	if s.RouteName() != match.Other {
		t.Error("resolved before it was")
	}
	if a.Name(a.Resolve(&s)) != "/x" || b.Name(b.Resolve(&s)) != "/{any}" || s.RouteName() != "/{any}" {
		t.Errorf("%s", s.RouteName())
	}
	if s.Path = "/y"; b.Name(b.Resolve(&s)) != "/{any}" || a.Name(a.Resolve(&s)) != match.Other {
		t.Errorf("%s", s.RouteName())
	}
}

// naive is the meaning of a pattern, word by word.
func naive(pattern, host, path string) bool {
	patternHost, tail, _ := strings.Cut(pattern, "/")
	if patternHost != "" && patternHost != host {
		return false
	}
	segments, left := strings.Split(tail, "/"), strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		switch {
		case i == len(segments)-1 && (s == "" || strings.HasSuffix(s, "...}")):
			return len(left) > i || i == 0
		case i >= len(left):
			return false
		case s == left[i]:
		case !strings.HasPrefix(s, "{") || left[i] == "":
			return false
		}
	}
	return len(left) == len(segments)
}

// For random tables: each pattern that means a path is, or covers, its route,
// so no rule is ever evaded by a narrower pattern; and a rule means nothing
// else, but for the slash at the end.
func TestRulesMeanWhatTheirPatternsSay(t *testing.T) {
	segment := rapid.SampledFrom([]string{"a", "b", "c", "{x}", "{y}"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		host := rapid.SampledFrom([]string{"", "", "", "h", "g"}).Draw(t, "host")
		end := rapid.SampledFrom([]string{"", "", "/", "/{rest...}"}).Draw(t, "end")
		parts := rapid.SliceOfN(segment, 0, 3).Draw(t, "segments")
		if len(parts) == 0 && end == "" {
			end = "/"
		}
		return host + strings.Join(append([]string{""}, parts...), "/") + end
	})
	rapid.Check(t, func(rt *rapid.T) {
		var kept []string
		made := table(t)
		for _, p := range rapid.SliceOfN(pattern, 1, 8).Draw(rt, "patterns") {
			if next, err := match.NewTable(append(kept, p)...); err == nil {
				kept, made = append(kept, p), next
			}
		}
		host := rapid.SampledFrom([]string{"h", "g", "other"}).Draw(rt, "host")
		path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4).Draw(rt, "path"), "/")
		if path != "/" && rapid.Bool().Draw(rt, "slash") {
			path += "/"
		}
		bare, slashed := strings.CutSuffix(path, "/")
		slashed = slashed && bare != ""
		s := match.Subject{Host: host, Path: path}
		id := made.Resolve(&s)
		exactly := false
		for _, p := range kept {
			m, err := made.Compile(match.Rule{Path: p})
			if err != nil {
				rt.Fatal(err)
			}
			means := naive(p, host, path)
			exactly = exactly || means
			got := m.CoversRoute(id)
			if got != m.Match(&s) || !m.ByRouteAlone() {
				rt.Fatalf("%s: covers the route: %t, matches: %t", p, got, m.Match(&s))
			}
			if means && !got || got && !means && !(slashed && naive(p, host, bare)) {
				rt.Fatalf("%q in %q: %s is route %s, which %s covers: %t, want %t", p, kept, path, made.Name(id), p, got, means)
			}
		}
		if slashed && id == 0 && route(made, host, bare) != match.Other || exactly && id == 0 {
			rt.Fatalf("%q: %s %s is %s", kept, host, path, made.Name(id))
		}
	})
}

// A limit on /login holds for /login/, unless somebody else has that path.
func TestASlashAtTheEndLeadsToTheNarrowerPattern(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"/login"}, "/login"},
		{[]string{"/login", "/"}, "/login"},
		{[]string{"/login", "/login/"}, "/login/"},
		{[]string{"/login", "/{x}/"}, "/{x}/"},
		{[]string{"/{x}", "/login/"}, "/login/"},
		{[]string{"/{x}", "/"}, "/{x}"},
	} {
		if got := route(table(t, c.patterns...), "", "/login/"); got != c.want {
			t.Errorf("%q: %s, want %s", c.patterns, got, c.want)
		}
	}
}

func TestResolvingACleanPathAllocatesNothing(t *testing.T) {
	made := table(t, "/v1/charges", "/v1/charges/{id}", "/v1/{kind}/{id}", "api.example.com/v1/charges")
	for _, path := range []string{"/v1/charges", "/v1/refunds/1", "/", "/.well-known", "/other/", "/v1/charges/"} {
		if n := testing.AllocsPerRun(100, func() {
			s := match.Subject{Host: "www.example.com:443", Path: path}
			made.Resolve(&s)
		}); n != 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}
