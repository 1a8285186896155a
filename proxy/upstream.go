package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"context"
)

// upstream is where requests go, taken from Config.Upstream.
type upstream struct {
	scheme string // of requests: http or https
	host   string
	base   string // path before each request's own, without a slash at its end
	socket string // path of a Unix socket
	h2c    bool

	escapedBase string // base as it is sent
}

const upstreamForms = "must be http://host:port, https://host, h2c://host:port or unix:///path"

func parseUpstream(text string) (upstream, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || text == "":
		return upstream{}, fmt.Errorf("Upstream %s, got %q", upstreamForms, text)
	case u.Scheme == "unix":
		return socketUpstream(u)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return upstream{}, errors.New("Upstream must not carry a user, a query or a fragment")
	case u.Hostname() == "" || u.Opaque != "":
		return upstream{}, fmt.Errorf("Upstream names no host: it %s", upstreamForms)
	}
	up := upstream{scheme: u.Scheme, host: u.Host}
	up.base, up.escapedBase = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	switch u.Scheme {
	case "http", "https":
	case "h2c":
		up.scheme, up.h2c = "http", true
	default:
		return upstream{}, fmt.Errorf("Upstream %s, got the scheme %q", upstreamForms, u.Scheme)
	}
	return up, nil
}

func socketUpstream(u *url.URL) (upstream, error) {
	path := u.Path
	if path == "" {
		path = u.Opaque
	}
	if u.Host != "" || path == "" || path == "/" {
		return upstream{}, errors.New("Upstream names no socket: it must be unix:///path")
	}
	return upstream{scheme: "http", host: "localhost", socket: path}, nil
}

// transports are the ways to the upstream. Connections of HTTP/2 cannot be
// upgraded, so an h2c upstream is asked for upgrades in HTTP/1.1.
type transports struct {
	ordinary, upgrade *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transports) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header["Upgrade"] != nil {
		return t.upgrade.RoundTrip(r)
	}
	return t.ordinary.RoundTrip(r)
}

func newTransports(c *Config, up upstream) (*transports, error) {
	ordinary, err := newTransport(c, up)
	if err != nil || !up.h2c {
		return &transports{ordinary, ordinary}, err
	}
	upgrade := ordinary.Clone()
	ordinary.Protocols = protocols(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
	return &transports{ordinary, upgrade}, nil
}

func newTransport(c *Config, up upstream) (*http.Transport, error) {
	security, err := c.TLS.client()
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		DialContext:            c.dialer(up),
		TLSClientConfig:        security,
		TLSHandshakeTimeout:    c.Timeouts.TLSHandshake,
		ResponseHeaderTimeout:  c.Timeouts.ResponseHeader,
		IdleConnTimeout:        c.Timeouts.Idle,
		ExpectContinueTimeout:  c.Timeouts.ExpectContinue,
		MaxIdleConns:           c.MaxIdleConns,
		MaxIdleConnsPerHost:    c.MaxIdleConns,
		MaxConnsPerHost:        c.MaxConns,
		MaxResponseHeaderBytes: c.MaxResponseHeaderBytes,
		DisableCompression:     true, // encodings are between the client and the upstream
		Protocols: protocols(func(p *http.Protocols) {
			p.SetHTTP1(true)
			p.SetHTTP2(true)
		}),
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}, nil
}

func protocols(set func(*http.Protocols)) *http.Protocols {
	p := new(http.Protocols)
	set(p)
	return p
}

// dialer returns how connections are made.
func (c *Config) dialer(up upstream) func(context.Context, string, string) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: c.Timeouts.Dial, KeepAlive: 15 * time.Second}).DialContext
	}
	timeout := c.Timeouts.Dial
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if up.socket != "" {
			network, address = "unix", up.socket
		}
		return dial(ctx, network, address)
	}
}

// client makes the configuration for connections to an https upstream.
func (t *UpstreamTLS) client() (*tls.Config, error) {
	//nolint:gosec // Unverified says what it does, and is off unless asked for
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.Unverified}
	var faults []error
	if t.CAFile != "" {
		pool, err := readAuthorities(t.CAFile)
		c.RootCAs, faults = pool, append(faults, err)
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		c.Certificates, faults = []tls.Certificate{pair}, append(faults, err)
	}
	return c, errors.Join(faults...)
}

func readAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}
