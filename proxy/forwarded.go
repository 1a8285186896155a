package proxy

import (
	"net/http"
	"net/netip"
	"strings"
)

// forwarded tells the upstream for whom the request is. What the peer says is
// believed if it is a trusted proxy, and dropped if not.
func (p *Proxy) forwarded(out http.Header, in *http.Request) {
	peer, ok := peerAddress(in.RemoteAddr)
	trusted := ok && p.trusts(peer)
	if !trusted {
		dropForwarded(out)
	}
	if ok {
		out["X-Forwarded-For"] = []string{chain(in.Header["X-Forwarded-For"], peer.String(), trusted)}
	}
	out["X-Forwarded-Host"] = []string{word(in.Header["X-Forwarded-Host"], in.Host, trusted)}
	out["X-Forwarded-Proto"] = []string{word(in.Header["X-Forwarded-Proto"], proto(in), trusted)}
	if said := in.Header["Forwarded"]; trusted && len(said) > 0 {
		out["Forwarded"] = []string{chain(said, element(peer, proto(in)), true)}
	}
}

// dropForwarded removes what only a proxy may say; ReverseProxy removes the
// best known of these names, but more are believed.
func dropForwarded(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded-") || name == "X-Real-Ip" {
			delete(h, name)
		}
	}
}

// chain continues a list that proxies write.
func chain(said []string, next string, trusted bool) string {
	if !trusted || len(said) == 0 {
		return next
	}
	return strings.Join(said, ", ") + ", " + next
}

// word is what a trusted proxy said, once, or what is seen here.
func word(said []string, seen string, trusted bool) string {
	if trusted && len(said) == 1 && said[0] != "" {
		return said[0]
	}
	return seen
}

func proto(in *http.Request) string {
	if in.TLS == nil {
		return "http"
	}
	return "https"
}

// element is a peer in the form of RFC 7239.
func element(peer netip.Addr, proto string) string {
	if peer.Is6() {
		return `for="[` + peer.String() + `]";proto=` + proto
	}
	return "for=" + peer.String() + ";proto=" + proto
}

func (p *Proxy) trusts(peer netip.Addr) bool {
	for _, prefix := range p.config.TrustedProxies {
		if prefix.Contains(peer) {
			return true
		}
	}
	return false
}

// peerAddress is the address of a connection's other end; a Unix socket has
// none.
func peerAddress(remote string) (netip.Addr, bool) {
	a, err := netip.ParseAddrPort(remote)
	return a.Addr().Unmap().WithZone(""), err == nil
}
