package config

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// DSN is the URL of a Redis server: redis://, rediss:// or unix://, with user,
// password and database. It prints without its password.
type DSN string

// Secret is a text that is never shown, such as a password.
type Secret string

// hidden stands in place of a secret.
const hidden = "*****"

// String is the URL with its password hidden.
func (d DSN) String() string {
	u, err := url.Parse(string(d))
	if err != nil {
		return hidden
	}
	return u.Redacted()
}

// GoString is String.
func (d DSN) GoString() string { return d.String() }

// MarshalText is String: a DSN that was written down cannot be read again.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String says whether there is a secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// dsnParts is what a DSN says.
type dsnParts struct {
	user, password string
	address        string // host:port, or the path of a socket
	database       int
	hasDatabase    bool
	tls, unix      bool
}

// parts reads a DSN. No error repeats any of it: it may hold a password.
func (d DSN) parts() (p dsnParts, err error) {
	u, err := url.Parse(string(d))
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return p, errors.New("this is not a URL of a Redis server")
	}
	p.user = u.User.Username()
	p.password, _ = u.User.Password()
	p.tls, p.unix = u.Scheme == "rediss", u.Scheme == "unix"
	switch {
	case p.unix:
		return p, p.socket(u)
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return p, errors.New("this does not begin with redis://, rediss:// or unix://")
	case u.Hostname() == "":
		return p, errors.New("the URL names no host")
	case u.RawQuery != "" || u.ForceQuery:
		return p, errors.New("the URL must not carry a query: what it could set has keys of its own")
	case u.Port() != "" && !isPort(u.Port(), 1):
		return p, errors.New("the port must be a number from 1 to 65535")
	}
	p.address = u.Host
	if u.Port() == "" {
		p.address = net.JoinHostPort(u.Hostname(), "6379")
	}
	return p, p.number(strings.TrimPrefix(u.Path, "/"))
}

// socket reads what is particular to unix://.
func (p *dsnParts) socket(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case u.Host != "" || u.Path == "" || u.Path == "/":
		return errors.New("the URL names no socket: its path begins with a third slash")
	case err != nil || len(query) > 1 || len(query) == 1 && len(query["db"]) != 1:
		return errors.New("the URL may carry ?db=number and nothing else")
	}
	p.address = u.Path
	return p.number(query.Get("db"))
}

func (p *dsnParts) number(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || plainInteger(text) != nil {
		return errors.New("the database must be a number from 0")
	}
	p.database, p.hasDatabase = n, true
	return nil
}

func parseDSN(text string) (any, error) {
	if _, err := DSN(text).parts(); err != nil {
		return nil, err
	}
	return DSN(text), nil
}

func parseSecret(text string) (any, error) {
	if strings.ContainsAny(text, "\r\n\x00") {
		return nil, errors.New("the secret has a line break or a zero byte in it")
	}
	return Secret(text), nil
}
