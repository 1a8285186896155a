package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Validate reports everything that is wrong with a file as a whole, as an
// Errors without positions. Parse and Load have done it already; it is for a
// File that was changed since.
func (f *File) Validate() error {
	ranges := outOfRange(f)
	problems := append(ranges, f.validate(&source{}, ranges)...)
	return problems.asError()
}

// source knows where the values of a file stand.
type source struct {
	file   string
	places map[string]place
}

// problem is a fault at a path, at the place of the nearest thing that the
// file holds.
func (s *source) problem(path, message string) Problem {
	p := Problem{File: s.file, Path: path, Message: message}
	for at := path; ; at = parent(at) {
		if place, ok := s.places[at]; ok {
			p.Line, p.Column = place.line, place.column
			return p
		}
		if at == "" {
			return p
		}
	}
}

// parent is the path of what holds the value at a path.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// checker collects what is wrong with values that are right by themselves.
type checker struct {
	*File
	source   *source
	wrong    map[string]bool // paths of faults that were found before
	around   map[string]bool // paths of what holds those
	problems Errors

	costHeader HeaderName // of the limits that were checked
}

// validate checks what types and ranges cannot say. Values that are known to
// be wrong are not judged again.
func (f *File) validate(s *source, known Errors) Errors {
	c := &checker{File: f, source: s, wrong: map[string]bool{}, around: map[string]bool{}}
	for _, p := range known {
		c.wrong[p.Path] = p.Path != ""
		for at := p.Path; at != "" && !c.around[at]; at = parent(at) {
			c.around[at] = true
		}
	}
	c.listeners()
	c.certificate("server.tls", &c.Server.TLS)
	c.certificate("admin.tls", &c.Admin.TLS)
	c.pair("proxy.tls", c.Proxy.TLS.Cert, c.Proxy.TLS.Key)
	c.storage()
	c.identity()
	c.callers()
	c.rules()
	c.exempt()
	c.ceilings()
	c.stages()
	c.patterns()
	return c.problems
}

// certificate checks what a listener serves TLS with.
func (c *checker) certificate(path string, t *TLS) {
	c.pair(path, t.Cert, t.Key)
	if t.ClientCA != "" && t.Cert == "" && !c.doubtful(path) {
		c.fault(path+".client_ca", fmt.Sprintf("needs %s.cert and key: certificates are shown only over TLS", path))
	}
}

// fault notes a problem, unless the value at its path, or what holds it, is
// known to be wrong.
func (c *checker) fault(path, message string) {
	if !c.isWrong(path) {
		c.problems.add(c.source.problem(path, message))
	}
}

func (c *checker) isWrong(path string) bool {
	for at := path; at != ""; at = parent(at) {
		if c.wrong[at] {
			return true
		}
	}
	return false
}

// doubtful reports whether a value, what holds it or something in it is known
// to be wrong: what follows from it would be no help to a reader.
func (c *checker) doubtful(paths ...string) bool {
	for _, path := range paths {
		if c.around[path] || c.isWrong(path) {
			return true
		}
	}
	return false
}

func (c *checker) listeners() {
	if c.doubtful("listen", "admin", "upstream") {
		return
	}
	if overlap(c.Listen, c.Admin.Listen) {
		c.fault("admin.listen", fmt.Sprintf("%s is taken by listen (%s)", c.Admin.Listen, c.Listen))
	}
	if !c.Admin.BeyondLoopback && !loopback(c.Admin.Listen) {
		c.fault("admin.listen", fmt.Sprintf("%s can be reached by other machines; listen on 127.0.0.1, "+
			"or set admin.beyond_loopback: true, after which metrics and status need a token, too", c.Admin.Listen))
	}
	if len(c.Admin.Certificates) > 0 && c.Admin.TLS.ClientCA == "" {
		c.fault("admin.certificates", "needs admin.tls.client_ca, which says whose certificates count")
	}
	if c.isItself() {
		c.fault("upstream", fmt.Sprintf("%s is this proxy itself (listen: %s)", c.Upstream, c.Listen))
	}
}

// isItself reports whether the upstream is what listens here.
func (c *checker) isItself() bool {
	u, err := url.Parse(string(c.Upstream))
	host, port, fault := net.SplitHostPort(string(c.Listen))
	if err != nil || fault != nil || u.Hostname() == "" {
		return false
	}
	_, upstreamPort, _ := net.SplitHostPort(hostPort(u))
	return port == upstreamPort && (sameHost(host, u.Hostname()) || anyHost(host) && localHost(u.Hostname()))
}

func hostPort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Host
	case u.Scheme == "https":
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// overlap reports whether two listeners cannot both be there.
func overlap(a, b Address) bool {
	hostA, portA, errA := net.SplitHostPort(string(a))
	hostB, portB, errB := net.SplitHostPort(string(b))
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return anyHost(hostA) || anyHost(hostB) || sameHost(hostA, hostB)
}

// anyHost reports whether a host stands for every address of the machine.
func anyHost(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || err == nil && a.IsUnspecified()
}

func sameHost(a, b string) bool {
	return strings.EqualFold(a, b) || localHost(a) && localHost(b)
}

func loopback(a Address) bool {
	host, _, err := net.SplitHostPort(string(a))
	return err == nil && localHost(host)
}

func localHost(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}

// pair checks that a certificate has its key.
func (c *checker) pair(path, cert, key string) {
	if (cert == "") == (key == "") || c.doubtful(path) {
		return
	}
	missing := path + ".cert"
	if key == "" {
		missing = path + ".key"
	}
	c.fault(missing, "is missing: a certificate and its key come together")
}
