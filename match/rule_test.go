package match_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/match"
)

func TestRules(t *testing.T) {
	made := table(t, "/v1/charges", "/v1/")
	subject := func(method, path string, header ...string) match.Subject {
		s := match.Subject{Method: method, Path: path}
		if len(header) > 0 {
			h := http.Header{}
			for i := 0; i < len(header); i += 2 {
				h.Add(header[i], header[i+1])
			}
			s.Header = h
		}
		return s
	}
	for _, c := range []struct {
		what string
		rule match.Rule
		s    match.Subject
		want bool
	}{
		{"the zero rule", match.Rule{}, subject("GET", "/x"), true},
		{"method", match.Rule{Methods: []string{"post", "PUT"}}, subject("POST", "/"), true},
		{"another method", match.Rule{Methods: []string{"POST"}}, subject("GET", "/"), false},
		{"an unknown method", match.Rule{Methods: []string{"POST"}}, subject("BREW", "/"), false},
		{"methods have one case", match.Rule{Methods: []string{"POST"}}, subject("post", "/"), false},
		{"HEAD does what GET does", match.Rule{Methods: []string{"GET"}}, subject("HEAD", "/"), true},
		{"GET is more than HEAD", match.Rule{Methods: []string{"HEAD"}}, subject("GET", "/"), false},
		{"HEAD is no other method", match.Rule{Methods: []string{"POST"}}, subject("HEAD", "/"), false},
		{"path", match.Rule{Path: "/v1/charges"}, subject("GET", "/v1/charges"), true},
		{"a narrower route", match.Rule{Path: "/v1/"}, subject("GET", "/v1/charges"), true},
		{"a wider route", match.Rule{Path: "/v1/charges"}, subject("GET", "/v1/refunds"), false},
		{"all together", match.Rule{Methods: []string{"POST"}, Path: "/v1/", Header: map[string]string{"X-Mode": "test"}}, subject("POST", "/v1/x", "x-mode", "test"), true},
		{"one is missing", match.Rule{Methods: []string{"POST"}, Path: "/v1/", Header: map[string]string{"X-Mode": "test"}}, subject("POST", "/v1/x"), false},
		{"another value", match.Rule{Header: map[string]string{"X-Mode": "test"}}, subject("GET", "/", "X-Mode", "testing"), false},
		{"prefix", match.Rule{Header: map[string]string{"X-Mode": "test*"}}, subject("GET", "/", "X-Mode", "testing"), true},
		{"present", match.Rule{Header: map[string]string{"X-Mode": "*"}}, subject("GET", "/", "X-Mode", "x"), true},
		{"not present", match.Rule{Header: map[string]string{"X-Mode": "*"}}, subject("GET", "/", "X-Other", "x"), false},
		{"no headers", match.Rule{Header: map[string]string{"X-Mode": "*"}}, subject("GET", "/"), false},
		{"absent", match.Rule{Header: map[string]string{"X-Mode": ""}}, subject("GET", "/", "X-Other", "x"), true},
	} {
		m, err := made.Compile(c.rule)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if got := m.Match(&c.s); got != c.want {
			t.Errorf("%s: %t, want %t", c.what, got, c.want)
		}
	}
}

func TestFaultyRules(t *testing.T) {
	_, err := table(t, "/x").Compile(match.Rule{Methods: []string{"BREW"}, Path: "/y", Header: map[string]string{"": "x"}})
	for _, want := range []string{`unknown method "BREW"`, `path "/y" is not in the table`, "a header needs a name"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The index lists for each route the matchers that may mean it, in order.
func TestIndex(t *testing.T) {
	made := table(t, "/a", "/", "/b/")
	var matchers []*match.Matcher
	for _, r := range []match.Rule{{Path: "/a"}, {}, {Path: "/"}, {Path: "/b/", Methods: []string{"GET"}}} {
		m, err := made.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		matchers = append(matchers, m)
	}
	index := made.Index(matchers)
	for path, want := range map[string][]int32{"/a": {0, 1, 2}, "/x": {1, 2}, "/b/1": {1, 2, 3}} {
		s := match.Subject{Path: path}
		got := index[made.Resolve(&s)]
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", path, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
	}
}
