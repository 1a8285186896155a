package main

import "testing"

func TestStateDir(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"HOME": "/home/ann"}, "/home/ann/.local/state/plimsoll/control"},
		{map[string]string{"HOME": "/home/ann", "XDG_STATE_HOME": "/x"}, "/x/plimsoll/control"},
		{map[string]string{"HOME": "/home/ann", "STATE_DIRECTORY": "/var/lib/plimsoll:/other"}, "/var/lib/plimsoll/control"},
		{map[string]string{"HOME": "relative"}, ""},
	} {
		if got := stateDir(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}
