package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Config says where requests go and how. Durations have a default that zero
// stands for; a negative one means no bound, where that is allowed.
type Config struct {
	// Upstream is where requests go, one of
	//
	//	http://host:port[/base]   HTTP/1.1
	//	https://host[:port][/base] HTTP/2 where the upstream offers it, else HTTP/1.1
	//	h2c://host:port[/base]    HTTP/2 without TLS
	//	unix:///path/to/socket    HTTP/1.1 over a Unix socket
	//
	// A base path is put before the path of each request. Required.
	Upstream string
	// PreserveHost sends the Host that the client named; else the upstream
	// sees its own, and the client's in X-Forwarded-Host.
	PreserveHost bool
	// TrustedProxies are the peers whose X-Forwarded-* and Forwarded headers
	// are kept and continued. From anybody else they are dropped. All
	// addresses at once (a /0) are refused.
	TrustedProxies []netip.Prefix
	// Reserved are names of headers that only Rewrite may set: what clients
	// send under such a name, or under one that differs in _ and - alone,
	// never reaches the upstream.
	Reserved []string
	// Upgrades are the protocols that a connection may switch to. Default:
	// websocket. Others are served without the switch: nothing would decide
	// about the requests in an h2c tunnel.
	Upgrades []string
	// Rewrite has the last word on a request to the upstream: class and
	// deadline travel on by it. It may change out, must not change in, and
	// keeps neither. May be nil.
	Rewrite func(out, in *http.Request)

	// Timeouts bound each step of an exchange. Each has a default.
	Timeouts Timeouts
	// MaxIdleConns is how many connections to the upstream stay open without
	// a request. Default 256, from 1 to 100,000.
	MaxIdleConns int
	// MaxConns bounds the connections to the upstream; requests beyond it
	// wait for one. Default 0: as many as there are requests in flight, from
	// 0 to 1,000,000.
	MaxConns int
	// MaxResponseHeaderBytes bounds the headers of an answer. Default 256
	// KiB, from 4 KiB to 16 MiB.
	MaxResponseHeaderBytes int64
	// FlushInterval is how long part of an answer of known length may wait
	// for more before it is sent on, up to 1m; negative: not at all. Default 0:
	// until a buffer is full. Answers of unknown length and event streams never wait.
	FlushInterval time.Duration
	// TLS is how an https upstream is checked.
	TLS UpstreamTLS
	// Dial replaces how connections to the upstream are made. May be nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log hears about failures, at most once in ten seconds for each kind.
	// Nil: nobody does; Stats counts all of them either way.
	Log *slog.Logger
}

// Timeouts bound how long the proxy waits for the upstream.
type Timeouts struct {
	// Dial is how long a connection may take to be made. Default 2s, from 1ms
	// to 1m.
	Dial time.Duration
	// TLSHandshake is how long TLS on it may take. Default 5s, from 1ms to 1m.
	TLSHandshake time.Duration
	// ResponseHeader is how long the upstream may take from the end of the
	// request to the headers of its answer. Default 30s, from 1ms to 1h;
	// negative: no bound but the request's own deadline.
	ResponseHeader time.Duration
	// Silence is the longest pause within the body of an answer. Default 5m,
	// from 1ms to 24h; negative: no bound.
	Silence time.Duration
	// Upgraded is the longest time in which nothing passes in either
	// direction through an upgraded connection. Default 1h, from 1ms to 24h;
	// negative: no bound.
	Upgraded time.Duration
	// Idle is how long a connection stays open without a request. Default
	// 90s, from 1s to 1h.
	Idle time.Duration
	// ExpectContinue is how long to wait for the upstream's leave to send a
	// body when the client asked for it. Default 1s, from 1ms to 1m.
	ExpectContinue time.Duration
}

// UpstreamTLS is how an https upstream is checked and what it is shown. The
// zero value trusts the system's authorities. TLS 1.2 is the oldest spoken.
type UpstreamTLS struct {
	// CAFile holds the authorities to trust instead of the system's, in PEM.
	CAFile string
	// ServerName is the name to verify. Default: the upstream's host.
	ServerName string
	// CertFile and KeyFile are shown to the upstream, in PEM. Both or neither.
	CertFile, KeyFile string
	// Unverified accepts any certificate: only for tests.
	Unverified bool
}

const (
	defaultMaxIdleConns           = 256
	defaultMaxResponseHeaderBytes = 256 << 10
)

// withDefaults returns the configuration with its defaults filled in, or all
// its faults.
func (c Config) withDefaults() (Config, error) {
	t := &c.Timeouts
	c.FlushInterval = max(c.FlushInterval, -1)
	var trust error
	c.TrustedProxies, trust = networks(c.TrustedProxies)
	if len(c.Upgrades) == 0 {
		c.Upgrades = []string{"websocket"}
	}
	return c, errors.Join(
		duration("Timeouts.Dial", &t.Dial, 2*time.Second, time.Millisecond, time.Minute),
		duration("Timeouts.TLSHandshake", &t.TLSHandshake, 5*time.Second, time.Millisecond, time.Minute),
		optional("Timeouts.ResponseHeader", &t.ResponseHeader, 30*time.Second, time.Millisecond, time.Hour),
		optional("Timeouts.Silence", &t.Silence, 5*time.Minute, time.Millisecond, 24*time.Hour),
		optional("Timeouts.Upgraded", &t.Upgraded, time.Hour, time.Millisecond, 24*time.Hour),
		duration("Timeouts.Idle", &t.Idle, 90*time.Second, time.Second, time.Hour),
		duration("Timeouts.ExpectContinue", &t.ExpectContinue, time.Second, time.Millisecond, time.Minute),
		number("MaxIdleConns", &c.MaxIdleConns, defaultMaxIdleConns, 1, 100_000),
		number("MaxConns", &c.MaxConns, 0, 0, 1_000_000),
		number("MaxResponseHeaderBytes", &c.MaxResponseHeaderBytes, defaultMaxResponseHeaderBytes, 4<<10, 16<<20),
		number("FlushInterval", &c.FlushInterval, 0, -1, time.Minute),
		pair("TLS.CertFile", c.TLS.CertFile, "TLS.KeyFile", c.TLS.KeyFile),
		tokens("Reserved", c.Reserved),
		tokens("Upgrades", c.Upgrades),
		trust,
	)
}

// tokens checks names of headers and protocols; a protocol may have a version.
func tokens(path string, words []string) (faults error) {
	for i, word := range words {
		if !httpguts.ValidHeaderFieldName(strings.Replace(word, "/", "-", 1)) {
			faults = errors.Join(faults, fmt.Errorf("%s[%d] %q is no name of a header or protocol", path, i, word))
		}
	}
	return faults
}

// networks folds IPv4 networks in IPv6 clothes.
func networks(prefixes []netip.Prefix) (folded []netip.Prefix, faults error) {
	for i, p := range prefixes {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if !p.IsValid() || p.Bits() == 0 {
			faults = errors.Join(faults, fmt.Errorf("TrustedProxies[%d] is %v: trusting everybody is trusting nobody's word", i, p))
		}
		folded = append(folded, p)
	}
	return folded, faults
}

// number fills in the default for zero and checks the range.
func number[N int | int64 | time.Duration](path string, value *N, byDefault, least, most N) error {
	if *value == 0 {
		*value = byDefault
	}
	if *value < least || *value > most {
		return fmt.Errorf("%s must be from %v to %v, got %v", path, least, most, *value)
	}
	return nil
}

func duration(path string, value *time.Duration, byDefault, least, most time.Duration) error {
	return number(path, value, byDefault, least, most)
}

// optional is a duration that may be without bound, which becomes zero.
func optional(path string, value *time.Duration, byDefault, least, most time.Duration) error {
	if *value < 0 {
		*value = 0
		return nil
	}
	return number(path, value, byDefault, least, most)
}

func pair(pathA, a, pathB, b string) error {
	if (a == "") != (b == "") {
		return fmt.Errorf("%s and %s belong together, got %q and %q", pathA, pathB, a, b)
	}
	return nil
}
