package identity

import (
	"errors"
	"net/netip"
	"strings"
)

// host is an address and the text that it was read from, without port,
// brackets and zone.
type host struct {
	addr netip.Addr
	text string
}

// parseHost reads an address with or without a port: 192.0.2.1,
// 192.0.2.1:8080, 2001:db8::1, [2001:db8::1], [2001:db8::1]:8080. A zone is
// dropped, and an IPv4 address in IPv6 clothes is the IPv4 address.
func parseHost(text string) (host, bool) {
	text = strings.Trim(text, " \t")
	if strings.HasPrefix(text, "[") {
		inner, port, closed := strings.Cut(text[1:], "]")
		if !closed || port != "" && !isPort(port) || strings.IndexByte(inner, ':') < 0 {
			return host{}, false
		}
		text = inner
	} else if i := strings.IndexByte(text, ':'); i >= 0 && strings.IndexByte(text[i+1:], ':') < 0 {
		if !isPort(text[i:]) {
			return host{}, false
		}
		text = text[:i]
	}
	if i := strings.IndexByte(text, '%'); i >= 0 {
		if strings.IndexByte(text, ':') < 0 || i == len(text)-1 {
			return host{}, false
		}
		text = text[:i]
	}
	addr, err := netip.ParseAddr(text)
	return host{addr.Unmap(), text}, err == nil
}

func isPort(s string) bool {
	if len(s) < 2 || len(s) > 6 || s[0] != ':' {
		return false
	}
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// network leaves of an address what tells clients apart.
func (i *Identity) network(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, _ := a.Prefix(i.ipv6Bits) // the bits were checked by New
	return p.Addr()
}

// name is what a caller by address is called: 192.0.2.1 or 2001:db8:1:2::/64.
func (i *Identity) name(h host) string {
	switch {
	case h.addr.Is6():
		var text [64]byte
		return string(netip.PrefixFrom(h.addr, i.ipv6Bits).AppendTo(text[:0]))
	case strings.IndexByte(h.text, ':') < 0:
		return h.text // IPv4 has one spelling, so this is it
	}
	return h.addr.String()
}

func (i *Identity) trusts(a netip.Addr) bool {
	for _, p := range i.trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// trustedPrefix folds an IPv4 network in IPv6 clothes, and refuses everybody.
func trustedPrefix(p netip.Prefix) (netip.Prefix, error) {
	if !p.IsValid() {
		return p, errors.New("not a network")
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p.Bits() == 0 {
		return p, errors.New("trusting every address lets each client name its own")
	}
	return p.Masked(), nil
}
