package operator

import (
	"errors"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// Credentials are the places where a token may be, tried in this order.
type Credentials struct {
	File  string // that the caller named; "" for none
	Value string // of the environment
	First string // the file in which the first start of a process on this machine left one; only for loopback
}

// Token finds the token for an address. None is no error: a socket needs none.
// A file that the caller named must be there.
func (c *Credentials) Token(address string) (string, error) {
	if c.File != "" {
		text, err := os.ReadFile(c.File)
		if err != nil {
			return "", wrong("the token file: %v", err)
		}
		if strings.TrimSpace(string(text)) == "" {
			return "", wrong("the token file %s is empty", c.File)
		}
		return strings.TrimSpace(string(text)), nil
	}
	if c.Value != "" || c.First == "" || !OnLoopback(address) {
		return strings.TrimSpace(c.Value), nil
	}
	text, err := os.ReadFile(c.First)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", wrong("the token of the first start: %v", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// OnLoopback reports whether an address, as Config.Address has it, is of this
// machine alone. A token that was made for this machine goes nowhere else.
func OnLoopback(address string) bool {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
