package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Address is a TCP address to listen on, as host:port. An empty host means
// every address of the machine; port 0 takes a free one.
type Address string

// URL is where an upstream is: an http, https, h2c or unix URL.
type URL string

// Pattern is a path pattern in the syntax of match.Table, with or without host.
type Pattern string

// HeaderName is the name of an HTTP header field.
type HeaderName string

// OptionalHeader is the name of an HTTP header field, or none.
type OptionalHeader string

// noHeader is the word of an OptionalHeader that names none.
const noHeader OptionalHeader = "none"

// Name is the header's name, "" for none.
func (h OptionalHeader) Name() string {
	if h == noHeader {
		return ""
	}
	return string(h)
}

// Protocol is the name of a protocol that a connection may switch to.
type Protocol string

// Method is an HTTP method in capitals.
type Method string

// Host is a host as requests name it, without a port.
type Host string

// Caller is a caller's name as identity finds it: the value of a header, or an
// address.
type Caller string

// Name is a name of something that the file defines: a label of metrics and a
// part of admin paths.
type Name string

// scalar says how a type is written in the file: as one word.
type scalar struct {
	word    string   // what the reference calls it
	right   string   // how it is written, for a person
	pattern string   // the same as a regular expression, as far as one can say it
	enum    []string // the whole set, when it is closed
	parse   func(text string) (any, error)
}

// scalars holds the types of which the file has words. What is not here is a
// string, a number, a bool, a list or a mapping.
var scalars = map[reflect.Type]*scalar{
	reflect.TypeFor[time.Duration](): {
		word: "duration", right: "a duration with its unit, such as 2ms, 10s or 1m30s",
		pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`, parse: parseDuration,
	},
	reflect.TypeFor[limit.Rate](): {
		word: "rate", right: "count/period, such as 100/s, 1000/min, 5000/day or 10/30s",
		pattern: `^(0|[1-9][0-9]*)/(s|sec|second|min|m|minute|h|hour|d|day|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`, parse: parseRate,
	},
	reflect.TypeFor[Quota](): {
		word: "quota", right: "count/day, count/week or count/month, such as 5000/day",
		pattern: `^(0|[1-9][0-9]*)/(day|week|month)$`, parse: parseQuota,
	},
	reflect.TypeFor[Zone](): {
		word: "time zone", right: "a name of the IANA's list, such as UTC, Europe/Berlin or America/New_York",
		pattern: `^[A-Za-z][-+_0-9A-Za-z]*(/[-+_0-9A-Za-z]+)*$`, parse: parseZone,
	},
	reflect.TypeFor[priority.Class]():       enumOf("class", priority.Parse, "low", "normal", "high", "critical"),
	reflect.TypeFor[pipeline.Mode]():        enumOf("mode", pipeline.ParseMode, "enforce", "shadow", "off"),
	reflect.TypeFor[pipeline.FaultPolicy](): enumOf("fault policy", pipeline.ParseFaultPolicy, "local", "open", "closed"),
	reflect.TypeFor[store.Algorithm]():      enumOf("algorithm", store.ParseAlgorithm, algorithmWords()...),
	reflect.TypeFor[slog.Level]():           enumOf("level", parseLevel, "debug", "info", "warn", "error"),
	reflect.TypeFor[identity.Field]():       enumOf("field", identity.ParseField, "x-forwarded-for", "forwarded", "none"),
	reflect.TypeFor[Kind]():                 words(RateLimit, Concurrency, FleetShed, WorkerShed),
	reflect.TypeFor[Driver]():               words(Memory, RedisDriver),
	reflect.TypeFor[RedisMode]():            words(RedisSingle, RedisSentinel, RedisCluster),
	reflect.TypeFor[Scheme]():               words(SchemePlimsoll, SchemeGoogle),
	reflect.TypeFor[OverrideKind](): words(
		OverrideStageMode, OverrideShed, OverrideCaller, OverrideLimit, OverrideReserve, OverridePin, OverrideBypass),
	reflect.TypeFor[AdminRole]():       words(RoleViewer, RoleAuditor, RoleResponder, RoleAdmin),
	reflect.TypeFor[Charge]():          words(ChargeAdmitted, ChargeAttempts),
	reflect.TypeFor[Adaptive]():        words(AdaptiveRunQueue, AdaptiveFixed),
	reflect.TypeFor[Ramp]():            words(RampStripe, RampFast, RampOff),
	reflect.TypeFor[RateLimitFields](): words(Draft12, Draft11, Legacy, NoFields),
	reflect.TypeFor[LogFormat]():       words(Text, JSON),
	reflect.TypeFor[pipeline.OwnerPart](): {
		word: "key part", right: "caller, address, route, class, host, header:Name",
		pattern: `^(caller|address|route|class|host|header:` + token + `)$`, parse: parseOwnerPart,
	},
	reflect.TypeFor[Source](): {
		word: "caller source", right: "header:Name, trusted-header:Name, subject, address; in Name letters, digits and -",
		pattern: `^(address|subject|(trusted-)?header:[-0-9A-Za-z]+)$`, parse: parseSource,
	},
	reflect.TypeFor[netip.Prefix](): {
		word: "address range", right: "an address range such as 10.0.0.0/8, 192.0.2.7/32 or 2001:db8::/32",
		pattern: `^[0-9a-fA-F:.]+/(0|[1-9][0-9]{0,2})$`, parse: parsePrefix,
	},
	reflect.TypeFor[Address](): {
		word: "listen address", right: "host:port, such as 127.0.0.1:8080 or :8080",
		pattern: `^\S*:[0-9]{1,5}$`, parse: parseAddress,
	},
	reflect.TypeFor[URL](): {
		word: "URL", right: "http://host:port, https://host:port, h2c://host:port, each with a path if all requests go below it, or unix:///path",
		pattern: `^((https?|h2c)://[^/?#@\s]+(/[^?#\s]*)?|unix:///[^?#\s]+)$`, parse: parseURL,
	},
	reflect.TypeFor[Pattern](): {
		word: "path pattern", right: "a path such as /v1/charges, /v1/charges/{id} or /static/, after a host if it is for that host alone",
		pattern: `^([^/{}\s]*[.:][^/{}\s]*)?/\S*$`, parse: parsePattern,
	},
	reflect.TypeFor[Method](): words[Method]("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"),
	reflect.TypeFor[Host](): {
		word: "host", right: "a host without a port, such as api.example.com",
		pattern: `^([^/:{}\[\]\s]+|\[[0-9a-fA-F:.]+\])$`, parse: parseHost,
	},
	reflect.TypeFor[Caller](): {
		word: "caller", right: "the value of a header of identity.caller, or an address",
		pattern: `.`, parse: parseCaller,
	},
	reflect.TypeFor[HeaderName](): {
		word: "header name", right: "letters, digits and -",
		pattern: `^` + token + `$`, parse: parseHeaderName,
	},
	reflect.TypeFor[OptionalHeader](): {
		word: "header name or `none`", right: "letters, digits and -, or none",
		pattern: `^` + token + `$`, parse: func(text string) (any, error) {
			name, err := parseHeaderName(text)
			if err != nil {
				return nil, err
			}
			return OptionalHeader(name.(HeaderName)), nil
		},
	},
	reflect.TypeFor[Protocol](): {
		word: "protocol", right: "a protocol such as websocket",
		pattern: `^[!#$%&'*+.^_|~0-9A-Za-z-]+(/[!#$%&'*+.^_|~0-9A-Za-z-]+)?$`, parse: parseProtocol,
	},
	reflect.TypeFor[DSN](): {
		word: "Redis URL", right: "redis://user:password@host:port/database, rediss:// for TLS, or unix:///path?db=number",
		pattern: `^(rediss?|unix)://\S+$`, parse: parseDSN,
	},
	reflect.TypeFor[Secret](): {word: "secret", right: "one line of text", pattern: `.`, parse: parseSecret},
	reflect.TypeFor[StoreAddress](): {
		word: "store address", right: "host:port, such as redis.internal:6379, or the path of a unix socket, such as /run/redis.sock",
		pattern: `^(/\S*|[^/\s]+:[0-9]{1,5})$`, parse: parseStoreAddress,
	},
	reflect.TypeFor[KeyPrefix](): {
		word: "key prefix", right: "1 to 64 letters, digits, and : . _ / -",
		pattern: `^[A-Za-z0-9:._/-]{1,64}$`, parse: parseKeyPrefix,
	},
	reflect.TypeFor[Name](): {
		word: "name", right: "1 to 64 letters, digits, - and _",
		pattern: `^[A-Za-z0-9_-]{1,64}$`, parse: parseName,
	},
}

// token is what a header's name is made of here: less than RFC 9110 allows,
// since many servers read X_Name and X-Name as the same header.
const token = "[-0-9A-Za-z]+"

var protocolForm = regexp.MustCompile(`^[!#$%&'*+.^_|~0-9A-Za-z-]+(/[!#$%&'*+.^_|~0-9A-Za-z-]+)?$`)

// enumOf is a closed set of words with a parser of its own.
func enumOf[T any](word string, parse func(string) (T, error), set ...string) *scalar {
	return &scalar{word: word, right: list(set), enum: set, parse: func(text string) (any, error) {
		if slices.Contains(set, text) { // exactly: the parsers are more lenient than the schema
			return parse(text)
		}
		return nil, fmt.Errorf("unknown %s %s%s", word, repeated(text), didYouMean(text, set))
	}}
}

// words is a closed set of words that are their own values.
func words[T ~string](set ...T) *scalar {
	plain := make([]string, len(set))
	for i, w := range set {
		plain[i] = string(w)
	}
	return enumOf("word", func(text string) (T, error) { return T(text), nil }, plain...)
}

func algorithmWords() (set []string) {
	for a := store.TokenBucket; a <= store.LeakyBucket; a++ {
		set = append(set, a.String())
	}
	return set
}

func parseDuration(text string) (any, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d >= 0 {
		if text == "0" {
			return nil, errors.New("a duration needs its unit; write 0s")
		}
		return d, nil
	}
	if err == nil {
		return nil, fmt.Errorf("%s is negative", text)
	}
	if _, numeric := strconv.ParseFloat(text, 64); numeric == nil {
		return nil, fmt.Errorf("a duration needs its unit, got %q", text)
	}
	return nil, fmt.Errorf("%q is not a duration", text)
}

func parseRate(text string) (any, error) {
	count, _, hasPeriod := strings.Cut(text, "/")
	if !hasPeriod {
		return nil, fmt.Errorf("a rate needs its period, got %q", text)
	}
	if err := plainInteger(count); err != nil {
		return nil, fmt.Errorf("rate %q: %w", text, err)
	}
	if count[0] == '-' {
		return nil, fmt.Errorf("rate %q is negative", text)
	}
	r, err := limit.ParseRate(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a rate", text)
	}
	return r, nil
}

func parseLevel(text string) (slog.Level, error) {
	var l slog.Level
	return l, l.UnmarshalText([]byte(text))
}

func parseOwnerPart(text string) (any, error) {
	owner, err := pipeline.ParseOwner(text)
	if err != nil {
		return nil, fmt.Errorf("unknown key part %q%s", text, didYouMean(text, []string{"caller", "address", "route", "class", "host"}))
	}
	if _, err := parseHeaderName(owner[0].Header); owner[0].Header != "" && err != nil {
		return nil, err
	}
	return owner[0], nil
}

func parsePrefix(text string) (any, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		if a, err := netip.ParseAddr(text); err == nil {
			return nil, fmt.Errorf("%q lacks its length; write %s/%d for this one address", text, text, a.BitLen())
		}
		return nil, fmt.Errorf("%q is not an address range", text)
	}
	if _, err := identity.New(identity.Config{TrustedProxies: []netip.Prefix{p}}); err != nil {
		return nil, fmt.Errorf("%q is everybody, and then each client can name its own address; list the proxies", text)
	}
	if p != p.Masked() {
		return nil, fmt.Errorf("%q is ambiguous: it may mean %s or %s/%d", text, p.Masked(), p.Addr(), p.Addr().BitLen())
	}
	return p, nil
}

func parseAddress(text string) (any, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not host:port", text)
	}
	if !isPort(port, 0) {
		return nil, fmt.Errorf("%q: the port must be a number from 0 to 65535", text)
	}
	if strings.ContainsAny(host, " \t/") {
		return nil, fmt.Errorf("%q: %q is not a host", text, host)
	}
	return Address(text), nil
}

func parseURL(text string) (any, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a URL", text)
	case u.Scheme == "unix":
		return unixURL(u, text)
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "h2c":
		return nil, fmt.Errorf("%q does not begin with http://, https://, h2c:// or unix://", text)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, fmt.Errorf("%q names no host", text)
	case u.User != nil:
		return nil, errors.New("a URL must not carry a user name or a password") // not repeated: it may be a secret
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, fmt.Errorf("%q must carry neither a query nor a fragment", text)
	case u.Port() != "" && !isPort(u.Port(), 1):
		return nil, fmt.Errorf("%q: the port must be a number from 1 to 65535", text)
	}
	return URL(text), nil
}

// isPort reports whether a text is a port, as a plain number.
func isPort(text string, lowest uint64) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n >= lowest && plainInteger(text) == nil
}

// unixURL is the URL of a socket.
func unixURL(u *url.URL, text string) (any, error) {
	if u.Host != "" || u.Path == "" || u.Path == "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q names no socket", text)
	}
	return URL(text), nil
}

func parsePattern(text string) (any, error) {
	if _, err := match.NewTable(text); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "match: "))
	}
	if host, path, _ := strings.Cut(text, "/"); host != "" && !strings.ContainsAny(host, ".:") {
		return nil, fmt.Errorf("%q is ambiguous: it may mean /%s, or /%s on a host %q alone; a host of one word is named with host", text, text, path, host)
	}
	return Pattern(text), nil
}

func parseHost(text string) (any, error) {
	bare := text
	if inner, ok := strings.CutPrefix(text, "["); ok {
		bare, ok = strings.CutSuffix(inner, "]")
		if a, err := netip.ParseAddr(bare); !ok || err != nil || !a.Is6() {
			return nil, fmt.Errorf("%q is not a host", text)
		}
		return Host(text), nil
	}
	if bare == "" || strings.ContainsAny(bare, "/:{}[] \t\r\n") {
		return nil, fmt.Errorf("%q is not a host", text)
	}
	return Host(text), nil
}

func parseCaller(text string) (any, error) {
	if text == "" {
		return nil, errors.New("a caller needs a name")
	}
	if key, isKey := strings.CutPrefix(text, "id:"); isKey {
		if _, err := store.ParseKey(key); err != nil {
			return nil, errors.New("id: must be followed by the 22 letters, digits, - and _ of a caller's key")
		}
	}
	return Caller(text), nil
}

func parseHeaderName(text string) (any, error) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !isTokenRune(r) }) {
		return nil, fmt.Errorf("%q is not a header name", text)
	}
	return HeaderName(text), nil
}

func isTokenRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-'
}

func parseProtocol(text string) (any, error) {
	if !protocolForm.MatchString(text) {
		return nil, fmt.Errorf("%q is not a protocol", text)
	}
	return Protocol(text), nil
}

func parseStoreAddress(text string) (any, error) {
	if strings.HasPrefix(text, "/") {
		return StoreAddress(text), nil
	}
	if strings.Contains(text, "://") {
		return nil, errors.New("this is a URL; write it as dsn") // not repeated: it may hold a password
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || strings.ContainsAny(host, " \t/@") {
		return nil, fmt.Errorf("%q is neither host:port nor a path", text)
	}
	if !isPort(port, 1) {
		return nil, fmt.Errorf("%q: the port must be a number from 1 to 65535", text)
	}
	return StoreAddress(text), nil
}

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9:._/-]{1,64}$`)

func parseKeyPrefix(text string) (any, error) {
	if !prefixForm.MatchString(text) {
		return nil, fmt.Errorf("%q is not a prefix of keys", text)
	}
	return KeyPrefix(text), nil
}

func parseName(text string) (any, error) {
	if err := store.ValidName(text); err != nil || len(text) > 64 {
		return nil, fmt.Errorf("%q is not a name", text)
	}
	return Name(text), nil
}
