package proxy

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
)

// rewrite makes the request to the upstream. By now ReverseProxy has removed
// what the client declared hop-by-hop, so a client cannot remove what is set
// here.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	in, out := r.In, r.Out
	p.address(out, in)
	p.filter(out)
	p.forwarded(out.Header, in)
	if !p.allowsUpgrade(out.Header.Get("Upgrade")) {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
	}
	watchBody(out, in)
	if p.config.Rewrite != nil {
		p.config.Rewrite(out, in)
	}
}

// address directs a request to the upstream, with path and query as they came.
// A ReverseProxy drops parts of a query that it cannot parse; but nothing here
// decides by the query, and signatures cover it.
func (p *Proxy) address(out, in *http.Request) {
	out.URL.Scheme, out.URL.Host, out.URL.User = p.to.scheme, p.to.host, nil
	out.URL.RawQuery = in.URL.RawQuery
	out.Host = ""
	if p.config.PreserveHost {
		out.Host = in.Host
	}
	path := p.to.escapedBase + sentPath(in)
	out.URL.Path, out.URL.RawPath = p.to.base+in.URL.Path, ""
	if path != out.URL.Path {
		out.URL.RawPath = path
	}
	if out.URL.EscapedPath() != path && !strings.HasPrefix(path, "//") {
		out.URL.Opaque = path // characters that net/url would escape
	}
}

// sentPath is the path as the client wrote it, unless a handler before has
// changed it.
func sentPath(in *http.Request) string {
	path, _, _ := strings.Cut(in.RequestURI, "?")
	if strings.HasPrefix(path, "/") {
		if plain, err := url.PathUnescape(path); err == nil && plain == in.URL.Path {
			return path
		}
	}
	return in.URL.EscapedPath()
}

// filter removes headers that are not the client's to set. A name with _ is
// the same as one with - to many servers behind.
func (p *Proxy) filter(out *http.Request) {
	for name := range out.Header {
		if strings.IndexByte(name, '_') >= 0 {
			if d := dashed(name); p.reserved[d] || strings.HasPrefix(d, "x-forwarded-") || d == "x-real-ip" {
				delete(out.Header, name)
			}
		}
	}
	for name := range p.reserved {
		out.Header.Del(name)
	}
}

// allowsUpgrade says whether a connection may switch to a protocol.
func (p *Proxy) allowsUpgrade(protocol string) bool {
	return protocol == "" || slices.ContainsFunc(p.config.Upgrades, func(allowed string) bool {
		return strings.EqualFold(allowed, protocol)
	})
}
