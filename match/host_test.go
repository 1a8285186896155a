package match_test

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/match"
)

// A rule for a host and one for a path agree on the route: neither hides
// requests from the other, as a pattern with a host would.
func TestRuleForAHost(t *testing.T) {
	table, err := match.NewTable("/login")
	if err != nil {
		t.Fatal(err)
	}
	m, err := table.Compile(match.Rule{Host: "API.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if m.ByRouteAlone() || !m.CoversRoute(0) || !m.CoversRoute(1) {
		t.Error("a host is taken for a matter of the route")
	}
	for host, want := range map[string]bool{
		"api.example.com": true, "Api.Example.com:8080": true, "example.com": false, "": false, "xapi.example.com": false,
	} {
		if got := m.Match(&match.Subject{Host: host, Path: "/login"}); got != want {
			t.Errorf("%q: got %v", host, got)
		}
	}
	path, err := table.Compile(match.Rule{Path: "/login"})
	if err != nil {
		t.Fatal(err)
	}
	if !path.Match(&match.Subject{Host: "api.example.com", Path: "/login"}) {
		t.Error("the rule for the path lost the requests to the host")
	}
}
