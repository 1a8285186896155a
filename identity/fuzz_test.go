package identity_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/identity"
)

// FuzzClient reads any field from a trusted peer: no panic, an address without
// a zone, and the same client when an attacker's element is put before it.
func FuzzClient(f *testing.F) {
	for _, w := range xForwardedFor {
		f.Add(strings.Join(w.in, ","), "6.6.6.6")
	}
	for _, w := range forwarded {
		f.Add(strings.Join(w.in, ","), `for="`)
	}
	fields := []identity.Field{identity.XForwardedFor, identity.Forwarded}
	trusted := prefixes("10.0.0.0/8", "2001:db8:9::/48")
	f.Fuzz(func(t *testing.T, value, added string) {
		for _, field := range fields {
			i := trusting(t, field)
			of := func(line string) (string, netip.Addr) {
				c, addr := i.Of(identity.Request{Peer: "10.0.0.1:1", Header: http.Header{header(field): {line}}})
				return c.Name, addr
			}
			name, addr := of(value)
			if addr.IsValid() == (name == "unknown") || addr.Zone() != "" || addr.Is4In6() {
				t.Fatalf("%q: %s at %v", value, name, addr)
			}
			untrusted := addr.IsValid() && !trusted[0].Contains(addr) && !trusted[1].Contains(addr)
			if again, _ := of(added + "," + value); untrusted && again != name {
				t.Fatalf("%q is %s, and %s behind %q", value, name, again, added)
			}
		}
	})
}
