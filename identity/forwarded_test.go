package identity_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/identity"
)

// trusting is an identity by address behind proxies in 10/8 and 2001:db8:9::/48.
func trusting(t testing.TB, f identity.Field) *identity.Identity {
	return must(t, identity.Config{Field: f, TrustedProxies: prefixes("10.0.0.0/8", "2001:db8:9::/48")})
}

type walk struct {
	what string
	peer string
	in   []string // lines of the field
	want string   // the caller's name
}

var xForwardedFor = []walk{
	{"no field", "10.0.0.1:1", nil, "10.0.0.1"},
	{"peer is not trusted", "192.0.2.9:1", []string{"6.6.6.6"}, "192.0.2.9"},
	{"one hop", "10.0.0.1:1", []string{"192.0.2.1"}, "192.0.2.1"},
	{"from the right", "10.0.0.1:1", []string{"6.6.6.6, 192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
	{"lines are one list", "10.0.0.1:1", []string{"6.6.6.6", "192.0.2.1", "10.0.0.2, 10.0.0.3"}, "192.0.2.1"},
	{"all trusted: the farthest", "10.0.0.1:1", []string{"10.0.0.7, 10.0.0.2"}, "10.0.0.7"},
	{"garbage to the left of the client", "10.0.0.1:1", []string{"<script>, 192.0.2.1"}, "192.0.2.1"},
	{"garbage where a proxy should be", "10.0.0.1:1", []string{"6.6.6.6, garbage, 10.0.0.2"}, "unknown"},
	{"empty entry hides who it was", "10.0.0.1:1", []string{"6.6.6.6, "}, "unknown"},
	{"empty line", "10.0.0.1:1", []string{"6.6.6.6", ""}, "unknown"},
	{"port", "10.0.0.1:1", []string{"192.0.2.1:4711"}, "192.0.2.1"},
	{"strange port", "10.0.0.1:1", []string{"192.0.2.1:http"}, "unknown"},
	{"IPv6", "10.0.0.1:1", []string{"2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2::/64"},
	{"IPv6 with port", "10.0.0.1:1", []string{"[2001:db8:1:2:3:4:5:6]:4711"}, "2001:db8:1:2::/64"},
	{"IPv6 in brackets", "10.0.0.1:1", []string{"[2001:db8:1:2:3:4:5:6]"}, "2001:db8:1:2::/64"},
	{"IPv4 in brackets", "10.0.0.1:1", []string{"[192.0.2.1]"}, "unknown"},
	{"open bracket", "10.0.0.1:1", []string{"[2001:db8::1"}, "unknown"},
	{"IPv4 in IPv6 clothes", "10.0.0.1:1", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
	{"trusted in IPv6 clothes", "[::ffff:10.0.0.1]:1", []string{"192.0.2.1, ::ffff:10.0.0.2"}, "192.0.2.1"},
	{"zone", "[fe80::1%eth0]:1", nil, "fe80::/64"},
	{"zone of IPv4", "10.0.0.1:1", []string{"192.0.2.1%eth0"}, "unknown"},
	{"leading zeros are octal to some", "10.0.0.1:1", []string{"192.0.02.1"}, "unknown"},
	{"no address at all", "@", []string{"6.6.6.6"}, "unknown"},
	{"no peer", "", nil, "unknown"},
	{"peer without port", "192.0.2.1", nil, "192.0.2.1"},
	{"65 proxies", "10.0.0.1:1", []string{"192.0.2.1" + strings.Repeat(", 10.0.0.2", 64)}, "unknown"},
	{"63 proxies", "10.0.0.1:1", []string{"192.0.2.1" + strings.Repeat(", 10.0.0.2", 63)}, "192.0.2.1"},
}

var forwarded = []walk{
	{"one element", "10.0.0.1:1", []string{"for=192.0.2.43"}, "192.0.2.43"},
	{"all parameters", "10.0.0.1:1", []string{`for=6.6.6.6, For="192.0.2.43:80"; proto=https;by=203.0.113.43`}, "192.0.2.43"},
	{"IPv6", "10.0.0.1:1", []string{`for="[2001:db8:cafe::17]:4711";proto=https`}, "2001:db8:cafe::/64"},
	{"IPv6 must be quoted", "10.0.0.1:1", []string{`for=[2001:db8:cafe::17]`}, "unknown"},
	{"IPv6 must be in brackets", "10.0.0.1:1", []string{`for="2001:db8:cafe::17"`}, "unknown"},
	{"port must be quoted", "10.0.0.1:1", []string{`for=192.0.2.43:80`}, "unknown"},
	{"unknown", "10.0.0.1:1", []string{"for=6.6.6.6, for=unknown"}, "unknown"},
	{"hidden", "10.0.0.1:1", []string{"for=6.6.6.6, for=_secret"}, "unknown"},
	{"no for", "10.0.0.1:1", []string{"for=6.6.6.6, proto=https"}, "unknown"},
	{"two for", "10.0.0.1:1", []string{"for=6.6.6.6;for=192.0.2.43"}, "unknown"},
	{"comma in quotes", "10.0.0.1:1", []string{`for=192.0.2.43;host="a,for=6.6.6.6"`}, "192.0.2.43"},
	{"escaped quote", "10.0.0.1:1", []string{`for=192.0.2.43;host="a\",for=6.6.6.6"`}, "192.0.2.43"},
	{"escaped backslash", "10.0.0.1:1", []string{`for=6.6.6.6;host="a\\",for=192.0.2.43`}, "192.0.2.43"},
	{"a quote left open", "10.0.0.1:1", []string{`for="6.6.6.6, for=192.0.2.43`}, "192.0.2.43"},
	{"a quote left open before quotes", "10.0.0.1:1", []string{`for=6.6.6.6;x=", for="[2001:db8:cafe::17]"`}, "2001:db8:cafe::/64"},
	{"through two proxies", "10.0.0.1:1", []string{"for=6.6.6.6, for=192.0.2.43", "for=10.0.0.2"}, "192.0.2.43"},
	{"text after a quote", "10.0.0.1:1", []string{`for="192.0.2.43"x`}, "unknown"},
	{"no value", "10.0.0.1:1", []string{`for=`}, "unknown"},
	{"no parameter", "10.0.0.1:1", []string{`192.0.2.43`}, "unknown"},
	{"a quote in a name", "10.0.0.1:1", []string{`for=192.0.2.43;"=""`}, "unknown"},
	{"no name", "10.0.0.1:1", []string{`for=192.0.2.43;=x`}, "unknown"},
	{"escape in for", "10.0.0.1:1", []string{`for="192.0.2.4\3"`}, "unknown"},
}

func TestClientBehindProxies(t *testing.T) {
	for field, walks := range map[identity.Field][]walk{identity.XForwardedFor: xForwardedFor, identity.Forwarded: forwarded} {
		i := trusting(t, field)
		for _, w := range walks {
			h := http.Header{}
			if w.in != nil {
				h[header(field)] = w.in
			}
			c, addr := i.Of(identity.Request{Peer: w.peer, Header: h})
			if c.Name != w.want {
				t.Errorf("%v: %s: %q is %s, want %s", field, w.what, w.in, c.Name, w.want)
			}
			if addr.IsValid() != (w.want != "unknown") || addr.Zone() != "" {
				t.Errorf("%v: %s: address %v", field, w.what, addr)
			}
		}
	}
}

func header(f identity.Field) string {
	if f == identity.Forwarded {
		return "Forwarded"
	}
	return "X-Forwarded-For"
}

// The two fields are never mixed: the one that is not configured is not read.
func TestTheOtherFieldIsNotRead(t *testing.T) {
	h := lines("X-Forwarded-For", "192.0.2.1", "Forwarded", "for=192.0.2.2", "X-Real-Ip", "192.0.2.3")
	for field, want := range map[identity.Field]string{
		identity.XForwardedFor: "192.0.2.1", identity.Forwarded: "192.0.2.2", identity.NoField: "10.0.0.1",
	} {
		if c, _ := trusting(t, field).Of(identity.Request{Peer: "10.0.0.1:1", Header: h}); c.Name != want {
			t.Errorf("%v: %s, want %s", field, c.Name, want)
		}
	}
}

func TestIPv6PrefixIsConfigurable(t *testing.T) {
	for bits, want := range map[int]string{48: "2001:db8:1::/48", 56: "2001:db8:1:200::/56", 128: "2001:db8:1:2ff::1/128"} {
		i := must(t, identity.Config{IPv6Prefix: bits})
		if c, _ := i.Of(identity.Request{Peer: "[2001:db8:1:2ff::1]:1"}); c.Name != want {
			t.Errorf("/%d: %s, want %s", bits, c.Name, want)
		}
	}
}

// Whatever an attacker writes before what the proxy appended changes nothing.
func TestNothingAddedOnTheLeftCounts(t *testing.T) {
	appended := map[identity.Field]string{identity.XForwardedFor: "198.51.100.7", identity.Forwarded: `for="198.51.100.7:99";proto=https`}
	text := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune(`0123456789abcdef.:[]%,;="\ _for`)), 0, 60, -1),
		rapid.SampledFrom([]string{`for="`, `for=6.6.6.6;x="`, `"`, `\"`, `\`, "10.0.0.1", "10.0.0.1, 6.6.6.6", `for=10.0.0.1,for="`}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		for field, own := range appended {
			i := trusting(t, field)
			want, _ := i.Of(identity.Request{Peer: "10.0.0.1:1", Header: http.Header{header(field): {own}}})
			if want.Name != "198.51.100.7" {
				rt.Fatalf("%v: the proxy's own entry is read as %q", field, want.Name)
			}
			evil := rapid.SliceOfN(text, 1, 4).Draw(rt, "added")
			added := append([]string{}, evil[:len(evil)-1]...)
			joined := append(added, evil[len(evil)-1]+", "+own)
			apart := append(append([]string{}, evil...), own)
			for _, value := range [][]string{joined, apart} {
				if got, _ := i.Of(identity.Request{Peer: "10.0.0.1:1", Header: http.Header{header(field): value}}); got != want {
					rt.Fatalf("%v %q: %+v, want %+v", field, value, got, want)
				}
			}
		}
	})
}

// Addresses that are told apart have keys of their own, the same one in each
// spelling.
func TestAddressesAndKeys(t *testing.T) {
	i := must(t, identity.Config{IPv6Prefix: 128})
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) netip.Addr {
			if rapid.Bool().Draw(rt, label+"4") {
				return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(rt, label)))
			}
			return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, label))).Unmap()
		}
		a, b := draw("a"), draw("b")
		ca, _ := i.Of(identity.Request{Peer: netip.AddrPortFrom(a, 1).String()})
		cb, _ := i.Of(identity.Request{Peer: netip.AddrPortFrom(b, 2).String()})
		if (a == b) != (ca.ID == cb.ID) || (a == b) != (ca.Name == cb.Name) {
			rt.Fatalf("%s is %+v, %s is %+v", a, ca, b, cb)
		}
		dressed, _ := i.Of(identity.Request{Peer: netip.AddrFrom16(a.As16()).String()})
		if dressed != ca {
			rt.Fatalf("%s is %+v, and %+v in IPv6 clothes", a, ca, dressed)
		}
	})
}

// Distinct values of distinct headers are distinct callers.
func TestDistinctCredentialsHaveDistinctKeys(t *testing.T) {
	i := must(t, identity.Config{Sources: []string{"header:X-A", "header:X-B", "subject"}})
	type drawn struct{ header, value string }
	ids := map[string]drawn{}
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{
			rapid.SampledFrom([]string{"X-A", "X-B", ""}).Draw(rt, "header"),
			strings.TrimSpace(rapid.StringN(1, 20, -1).Draw(rt, "value")),
		}
		if d.value == "" {
			return
		}
		q := identity.Request{Subject: d.value}
		if d.header != "" {
			q = identity.Request{Header: http.Header{d.header: {d.value}}}
		}
		c, _ := i.Of(q)
		if other, taken := ids[c.ID.String()]; taken && other != d {
			rt.Fatalf("%v and %v have one key", d, other)
		}
		ids[c.ID.String()] = d
	})
}
