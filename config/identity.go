package config

import (
	"fmt"
	"net/netip"

	"github.com/plimsoll-go/plimsoll/identity"
)

// Identity sets who a request comes from.
type Identity struct {
	// Where the caller is looked for; the first source that knows counts.
	// header:Name is a credential, which is hashed and never shown;
	// trusted-header:Name is a name that a trusted proxy has verified; subject
	// is the subject of a verified client certificate; address is the client's
	// address.
	Caller []Source `yaml:"caller" items:"1..8" default:"[header:X-Api-Key, address]"`
	// The proxies that may say for whom they speak. Behind a load balancer
	// that is not listed, every client has the load balancer's address.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies" items:"0..256" default:"[]" example:"[127.0.0.1/32, 10.0.0.0/8]"`
	// The header in which they say it. It is read from the right, to the
	// first address that is not a trusted proxy's.
	Forwarded identity.Field `yaml:"forwarded" default:"x-forwarded-for"`
	// How many bits of an IPv6 address tell clients apart: a subscriber has
	// all addresses of a /64.
	IPv6Prefix int `yaml:"ipv6_prefix" default:"64" range:"32..128"`
}

// Source is where a caller is looked for: header:Name, trusted-header:Name,
// subject or address.
type Source string

// trustedHeader begins a source that needs a trusted proxy.
const trustedHeader = "trusted-header:"

// subject is the source that needs client certificates.
const subject Source = "subject"

func parseSource(text string) (any, error) {
	somebody := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	if _, err := identity.New(identity.Config{Sources: []string{text}, TrustedProxies: somebody}); err != nil {
		return nil, fmt.Errorf("%q is no source of callers%s", text, didYouMean(text, []string{"header:Name", "trusted-header:Name", "subject", "address"}))
	}
	return Source(text), nil
}
