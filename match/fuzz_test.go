package match_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/match"
)

var muxPatterns = []string{
	"/{$}", "/login", "/v1/charges", "/v1/charges/{id}", "/v1/{kind}/{id}", "/files/", "/files/{name}/meta", "h/login", "h/static/{rest...}",
}

// FuzzServeMux asks a table and http.ServeMux for the route of any path that
// means one thing: they agree, but that a slash at the end leads to the same
// route here and nowhere, or elsewhere, there.
func FuzzServeMux(f *testing.F) {
	for _, p := range []string{
		"/", "/login", "//login", "/a/../login", "/%6cogin", "/login/", "/v1/charges/1", "/v1/charges/1/", "/files", "/files/a/meta", "/files/x/../y/meta", "/v1//charges", "/static/", "/./login", "/login/..", "/%E9", "/v1/charges/%00",
	} {
		f.Add("h", p)
		f.Add("other:80", p)
	}
	mux := http.NewServeMux()
	var ours []string
	for _, p := range muxPatterns {
		mux.HandleFunc(p, func(http.ResponseWriter, *http.Request) {})
		if p != "/{$}" {
			ours = append(ours, p)
		}
	}
	made := table(f, ours...)
	f.Fuzz(func(t *testing.T, host, path string) {
		u, err := url.ParseRequestURI(path)
		lower := strings.ToLower(path)
		if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.Contains(lower, "%2f") || strings.Contains(lower, "%2e") {
			return
		}
		if host != "h" {
			host = "other"
		}
		want := muxRoute(mux, host, u)
		got := route(made, host, u.Path)
		if got == want {
			return
		}
		bare, slashed := strings.CutSuffix(match.Clean(u.Path), "/")
		if !slashed || got != muxRoute(mux, host, &url.URL{Path: bare}) {
			t.Fatalf("%s %q: %s, and %s of ServeMux", host, path, got, want)
		}
	})
}

// muxRoute is the pattern of ServeMux that serves a path, after a redirect to
// the clean path, but not after one that adds a slash.
func muxRoute(mux *http.ServeMux, host string, u *url.URL) string {
	clean := *u
	clean.Path, clean.RawPath = match.Clean(u.Path), ""
	_, pattern := mux.Handler(&http.Request{Method: "GET", Host: host, URL: &clean})
	if strings.HasSuffix(pattern, "/") && !strings.HasSuffix(clean.Path, "/") && !strings.HasPrefix(clean.Path, pattern) || pattern == "" || pattern == "/{$}" {
		return match.Other
	}
	if pattern == "h/static/{rest...}" && clean.Path == "/static" {
		return match.Other
	}
	return pattern
}

// FuzzClean cleans any path: rooted, clean for good, and the same whichever
// way it is spelled.
func FuzzClean(f *testing.F) {
	for _, p := range []string{"", "/", "a", "//", "/./", "/..", "/a/./b/../c/", "/.a/..b", "/a/..", "/..."} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		c := match.Clean(p)
		if !strings.HasPrefix(c, "/") || match.Clean(c) != c || strings.Contains(c, "//") {
			t.Fatalf("%q is cleaned to %q", p, c)
		}
		for segment := range strings.SplitSeq(c, "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q is cleaned to %q", p, c)
			}
		}
		if again := match.Clean("/x/.." + "/" + p); again != c && p != "" {
			t.Fatalf("%q is cleaned to %q, and to %q on a detour", p, c, again)
		}
	})
}

// FuzzPattern compiles any patterns: an error, or a table that resolves.
func FuzzPattern(f *testing.F) {
	f.Add("/a/{x}", "/a/b", "/a/b")
	f.Add("h/{x...}", "/", "/h")
	f.Add("/{x", "}", "/{x")
	f.Fuzz(func(t *testing.T, a, b, path string) {
		made, err := match.NewTable(a, b)
		if err != nil {
			return
		}
		if name := route(made, "h", path); name != match.Other && name != a && name != b {
			t.Fatalf("%q", name)
		}
	})
}
