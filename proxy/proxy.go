package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"strings"
)

// Proxy forwards requests to one upstream. Make one with New.
type Proxy struct {
	reverse   httputil.ReverseProxy
	transport *transports
	to        upstream
	config    Config
	reserved  map[string]bool // lower case, with dashes
	failures  failureCounts
}

// New prepares a proxy; it opens no connection and starts no goroutine. The
// error names every fault of the configuration.
func New(c Config) (*Proxy, error) {
	c, faults := c.withDefaults()
	to, err := parseUpstream(c.Upstream)
	ways, tlsErr := newTransports(&c, to)
	if faults = errors.Join(faults, err, tlsErr); faults != nil {
		return nil, fmt.Errorf("proxy: configuration: %w", faults)
	}
	p := &Proxy{transport: ways, to: to, config: c, reserved: reservedNames(c.Reserved)}
	p.failures.log = c.Log
	p.reverse = httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      ways,
		FlushInterval:  c.FlushInterval,
		BufferPool:     &copyBuffers,
		ModifyResponse: p.watch,
		ErrorHandler:   p.fail,
		ErrorLog:       newNoise(nil), // whatever it would say is counted
	}
	return p, nil
}

// ServeHTTP forwards a request. It panics with http.ErrAbortHandler when the
// answer breaks off, as httputil.ReverseProxy does, so that the client cannot
// take half an answer for a whole one.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refusal := p.refusal(r); refusal != NoFailure {
		p.failures.add(refusal, nil)
		refusal.write(w, r)
		return
	}
	w.Header()["Content-Type"] = nil // an answer without one stays without: net/http shall not guess
	if r.Header["Upgrade"] != nil {
		w = &hijacker{w, p.config.Timeouts.Upgraded}
	}
	if r.Header["Expect"] != nil {
		w = leaver{w}
	}
	p.reverse.ServeHTTP(w, r)
}

// refusal says whether a request is not for a reverse proxy.
func (p *Proxy) refusal(r *http.Request) Failure {
	switch {
	case r.Method == http.MethodConnect:
		return BadMethod
	case r.URL.Path != "" && r.URL.Path[0] != '/': // *, outside OPTIONS
		return BadRequest
	case strings.IndexFunc(r.RequestURI, notInTarget) >= 0, strings.IndexFunc(r.Host, notInHost) >= 0:
		return BadRequest
	}
	return NoFailure
}

// notInTarget finds what ends a target for some servers and not for others.
// HTTP/2 carries spaces in a path, which would end it in a request line.
func notInTarget(c rune) bool { return c <= ' ' || c == 0x7f || c == '#' }

// notInHost finds what no host has. net/http lets some of it pass in HTTP/2.
func notInHost(c rune) bool { return c <= ' ' || strings.ContainsRune("/?#@\\\"<>^`{|}\x7f", c) }

// CloseIdleConnections closes the connections to the upstream that serve
// nothing now.
func (p *Proxy) CloseIdleConnections() {
	p.transport.ordinary.CloseIdleConnections()
	p.transport.upgrade.CloseIdleConnections()
}

func reservedNames(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[dashed(name)] = true
	}
	return set
}

// dashed is a header's name as servers read it that turn names into variables,
// where - and _ are one.
func dashed(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}
