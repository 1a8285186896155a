package identity_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/identity"
)

func must(t testing.TB, c identity.Config) *identity.Identity {
	t.Helper()
	i, err := identity.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// lines makes a header of name, value pairs; a name may come twice.
func lines(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestSourcesAreAskedInOrder(t *testing.T) {
	i := must(t, identity.Config{
		Sources:        []string{"subject", "trusted-header:X-Caller", "header:X-Api-Key", "address"},
		TrustedProxies: prefixes("10.0.0.0/8"),
	})
	long := strings.Repeat("k", 4<<10+1)
	for _, c := range []struct {
		what         string
		q            identity.Request
		name, source string
		secret       bool
	}{
		{"subject first", identity.Request{Peer: "10.0.0.1:1", Subject: "acme", Header: lines("X-Caller", "b", "X-Api-Key", "k")}, "acme", "subject", false},
		{"trusted name", identity.Request{Peer: "10.0.0.1:1", Header: lines("X-Caller", "b", "X-Api-Key", "k")}, "b", "X-Caller", false},
		{"trusted name from a stranger", identity.Request{Peer: "192.0.2.1:1", Header: lines("X-Caller", "big-customer", "X-Api-Key", "k")}, "k", "X-Api-Key", true},
		{"credential", identity.Request{Peer: "192.0.2.1:1", Header: lines("x-api-key", " k ")}, "k", "X-Api-Key", true},
		{"empty credential", identity.Request{Peer: "192.0.2.1:1", Header: lines("X-Api-Key", " ")}, "192.0.2.1", "address", false},
		{"same credential twice", identity.Request{Peer: "192.0.2.1:1", Header: lines("X-Api-Key", "k", "X-Api-Key", "k")}, "k", "X-Api-Key", true},
		{"two credentials", identity.Request{Peer: "192.0.2.1:1", Header: lines("X-Api-Key", "k", "X-Api-Key", "l")}, "192.0.2.1", "address", false},
		{"endless credential", identity.Request{Peer: "192.0.2.1:1", Header: lines("X-Api-Key", long)}, "192.0.2.1", "address", false},
		{"underscores are another header", identity.Request{Peer: "192.0.2.1:1", Header: http.Header{"X_api_key": {"k"}}}, "192.0.2.1", "address", false},
		{"no header at all", identity.Request{Peer: "192.0.2.1:1"}, "192.0.2.1", "address", false},
		{"nothing known", identity.Request{Peer: "@"}, "unknown", "unknown", false},
	} {
		got, _ := i.Of(c.q)
		if got.Name != c.name || got.Source != c.source || got.Secret != c.secret {
			t.Errorf("%s: got %q from %s (secret %t), want %q from %s (secret %t)",
				c.what, got.Name, got.Source, got.Secret, c.name, c.source, c.secret)
		}
		if got.ID.IsZero() {
			t.Errorf("%s: no id", c.what)
		}
	}
}

func TestACredentialIsNotShown(t *testing.T) {
	i := must(t, identity.Config{Sources: []string{"header:Authorization"}})
	c, _ := i.Of(identity.Request{Peer: "192.0.2.1:1", Header: lines("Authorization", "Bearer s3cret")})
	if label := c.Label(); strings.Contains(label, "s3cret") || !strings.HasPrefix(label, "Authorization:") {
		t.Errorf("label %q", label)
	}
}

// One value is another caller from each source: an API key cannot pass for a
// subject of the same name, nor one header's value for another's.
func TestSourcesDoNotCollide(t *testing.T) {
	q := identity.Request{Peer: "10.0.0.1:1", Subject: "acme", Header: lines("X-A", "acme", "X-B", "acme")}
	seen := map[string]string{}
	for _, source := range []string{"subject", "header:X-A", "header:X-B", "trusted-header:X-A", "trusted-header:X-B", "address"} {
		i := must(t, identity.Config{Sources: []string{source}, TrustedProxies: prefixes("10.0.0.0/8")})
		c, _ := i.Of(q)
		if other, taken := seen[c.ID.String()]; taken {
			t.Errorf("%s and %s give one key", source, other)
		}
		seen[c.ID.String()] = source
	}
}

func TestConfigurationFaults(t *testing.T) {
	for _, c := range []struct {
		config identity.Config
		want   []string
	}{
		{identity.Config{Sources: []string{"cookie"}}, []string{`sources[0]`, `unknown source "cookie"`}},
		{identity.Config{Sources: []string{"address:x"}}, []string{"unknown source"}},
		{identity.Config{Sources: []string{"header"}}, []string{"unknown source"}},
		{identity.Config{Sources: []string{"header:"}}, []string{"needs a name"}},
		{identity.Config{Sources: []string{"header:X_Api_Key"}}, []string{`"X_Api_Key"`, "letters, digits and -"}},
		{identity.Config{Sources: []string{"header:X Api"}}, []string{"letters, digits and -"}},
		{identity.Config{Sources: []string{"trusted-header:X-Caller"}}, []string{"trusted proxies must be listed"}},
		{identity.Config{TrustedProxies: prefixes("0.0.0.0/0")}, []string{"trusted proxies[0]", "every address"}},
		{identity.Config{TrustedProxies: prefixes("10.0.0.0/8", "::/0")}, []string{"trusted proxies[1]", "every address"}},
		{identity.Config{TrustedProxies: prefixes("::ffff:0.0.0.0/96")}, []string{"every address"}},
		{identity.Config{TrustedProxies: []netip.Prefix{{}}}, []string{"not a network"}},
		{identity.Config{IPv6Prefix: 16}, []string{"32 to 128"}},
		{identity.Config{IPv6Prefix: 129, Sources: []string{"x", "y"}}, []string{"32 to 128", "sources[0]", "sources[1]"}},
	} {
		_, err := identity.New(c.config)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %v, want %q", c.config, err, want)
			}
		}
	}
}

func TestUsesSubject(t *testing.T) {
	if must(t, identity.Config{}).UsesSubject() || !must(t, identity.Config{Sources: []string{"address", "subject"}}).UsesSubject() {
		t.Error("UsesSubject does not say whether subject is among the sources")
	}
}

func TestFieldWords(t *testing.T) {
	for _, f := range []identity.Field{identity.XForwardedFor, identity.Forwarded, identity.NoField} {
		if got, err := identity.ParseField(f.String()); err != nil || got != f {
			t.Errorf("%v: read as %v, %v", f, got, err)
		}
	}
	if _, err := identity.ParseField("x-real-ip"); err == nil {
		t.Error("x-real-ip is no field")
	}
}

func TestOfAllocatesNothing(t *testing.T) {
	i := must(t, identity.Config{Sources: []string{"subject", "header:X-Api-Key", "address"}, TrustedProxies: prefixes("10.0.0.0/8")})
	for what, q := range map[string]identity.Request{
		"credential":       {Peer: "192.0.2.1:1234", Header: lines("X-Api-Key", "0123456789abcdef0123456789abcdef")},
		"subject":          {Peer: "192.0.2.1:1234", Header: http.Header{}, Subject: "acme"},
		"address":          {Peer: "192.0.2.1:1234", Header: http.Header{}},
		"X-Forwarded-For":  {Peer: "10.0.0.1:1234", Header: lines("X-Forwarded-For", "6.6.6.6, 192.0.2.1, 10.0.0.2")},
		"nothing is known": {Peer: "", Header: http.Header{}},
	} {
		if n := testing.AllocsPerRun(100, func() { i.Of(q) }); n > 0 && what != "nothing is known" {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	q := identity.Request{Peer: "[2001:db8::1]:1234", Header: http.Header{}}
	if n := testing.AllocsPerRun(100, func() { i.Of(q) }); n > 1 {
		t.Errorf("an IPv6 network's name: %v allocations, want 1", n)
	}
}
