package identity

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// Config says how callers are told apart. The zero value goes by the address
// of the connection.
type Config struct {
	// Sources are asked in order, the first that knows names the caller:
	//
	//	header:Name          a credential, such as an API key; only its hash is kept and shown
	//	trusted-header:Name  a name that a trusted proxy has verified; ignored from anybody else
	//	subject              the verified subject of the request, see Request.Subject
	//	address              the client's address
	//
	// A source that knows nothing leaves it to the next. So does a header that
	// is empty, longer than 4 KiB, or given twice with different values:
	// servers disagree on which of two counts. Where no source knows, the
	// caller is "unknown", and all such requests count together. Default:
	// address.
	Sources []string

	// TrustedProxies are the networks whose connections may say for whom they
	// speak. Default: none. All addresses at once (a /0) are refused.
	TrustedProxies []netip.Prefix

	// Field is the header in which trusted proxies say it; the other is not
	// looked at. Default: X-Forwarded-For.
	Field Field

	// IPv6Prefix is how many bits of an IPv6 address tell clients apart, 32 to
	// 128. Default 64: a subscriber has that many addresses to itself.
	IPv6Prefix int
}

// Request is what an edge knows of who sends a request.
type Request struct {
	Peer    string // address and port of the connection, as in http.Request.RemoteAddr
	Header  Header // nil when there is none
	Subject string // who the request was verified to be from; "" when nobody verified
}

// Header is the headers of a request. http.Header is one.
type Header interface {
	// Values returns all values under a name, in the order of the lines. It is
	// asked by canonical names alone, however the configuration writes them.
	Values(name string) []string
}

// Identity is a compiled Config.
type Identity struct {
	sources  []source
	trusted  []netip.Prefix
	field    Field
	ipv6Bits int
}

// New compiles a configuration. The error names every fault.
func New(c Config) (*Identity, error) {
	i := &Identity{field: c.Field, ipv6Bits: c.IPv6Prefix}
	var errs []error
	if c.IPv6Prefix == 0 {
		i.ipv6Bits = 64
	} else if c.IPv6Prefix < 32 || c.IPv6Prefix > 128 {
		errs = append(errs, fmt.Errorf("identity: the IPv6 prefix must be 32 to 128 bits, got %d", c.IPv6Prefix))
	}
	for n, p := range c.TrustedProxies {
		prefix, err := trustedPrefix(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("identity: trusted proxies[%d]: %w", n, err))
		}
		i.trusted = append(i.trusted, prefix)
	}
	if len(c.Sources) == 0 {
		c.Sources = []string{"address"}
	}
	for n, text := range c.Sources {
		s, err := parseSource(text, len(i.trusted) > 0)
		if err != nil {
			errs = append(errs, fmt.Errorf("identity: sources[%d]: %w", n, err))
		}
		i.sources = append(i.sources, s)
	}
	return i, errors.Join(errs...)
}

var unknown = pipeline.Caller{ID: store.KeyOf("unknown"), Name: "unknown", Source: "unknown"}

// Of returns the caller of a request and the address of its client, which is
// invalid when it is not known. Of an IPv6 address only the bits that tell
// clients apart are left.
func (i *Identity) Of(q Request) (pipeline.Caller, netip.Addr) {
	peer, known := parseHost(q.Peer)
	trusted := known && i.trusts(peer.addr)
	client := peer
	if trusted && q.Header != nil {
		client, known = i.behind(peer, q.Header)
	}
	if !known {
		client = host{}
	}
	client.addr = i.network(client.addr)
	for n := range i.sources {
		if c, ok := i.sources[n].caller(i, &q, client, trusted); ok {
			return c, client.addr
		}
	}
	return unknown, client.addr
}

// UsesSubject reports whether some source is the verified subject, so that an
// edge need not verify for nothing.
func (i *Identity) UsesSubject() bool {
	for n := range i.sources {
		if i.sources[n].kind == subject {
			return true
		}
	}
	return false
}
