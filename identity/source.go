package identity

import (
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"strings"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// source is one place where a caller may be found.
type source struct {
	kind   sourceKind
	header string // canonical name, for the two kinds of headers
}

type sourceKind uint8

const (
	credential sourceKind = iota
	trustedHeader
	subject
	address
)

var sourceWords = [...]string{"header", "trusted-header", "subject", "address"}

// longest is the length of a value, in bytes, above which it names nobody.
const longest = 4 << 10

func parseSource(text string, proxies bool) (source, error) {
	word, name, isHeader := strings.Cut(text, ":")
	for kind, known := range sourceWords {
		k := sourceKind(kind)
		if known != word || isHeader != (k == credential || k == trustedHeader) {
			continue
		}
		if !isHeader {
			return source{kind: k}, nil
		}
		if k == trustedHeader && !proxies {
			return source{}, fmt.Errorf("%s: trusted proxies must be listed, or nobody may send it", text)
		}
		return source{k, textproto.CanonicalMIMEHeaderKey(name)}, checkName(name)
	}
	return source{}, fmt.Errorf("unknown source %q, allowed: header:Name, trusted-header:Name, subject, address", text)
}

// checkName refuses names that no header has, and underscores: many servers
// read X_Name and X-Name as the same header, so that one could pass for the
// other.
func checkName(name string) error {
	if name == "" {
		return errors.New("a header needs a name")
	}
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' {
			return fmt.Errorf("header name %q: allowed are letters, digits and -", name)
		}
	}
	return nil
}

// caller asks one source.
func (s *source) caller(i *Identity, q *Request, client host, trusted bool) (pipeline.Caller, bool) {
	switch s.kind {
	case credential, trustedHeader:
		if s.kind == trustedHeader && !trusted {
			return pipeline.Caller{}, false
		}
		value, ok := single(q.Header, s.header)
		return pipeline.Caller{
			ID:   store.KeyOf(sourceWords[s.kind], s.header, value),
			Name: value, Source: s.header, Secret: s.kind == credential,
		}, ok
	case subject:
		return pipeline.Caller{ID: store.KeyOf("subject", q.Subject), Name: q.Subject, Source: "subject"}, q.Subject != ""
	case address:
		if client.addr.IsValid() {
			return pipeline.Caller{ID: addressKey(client.addr), Name: i.name(client), Source: "address"}, true
		}
	}
	return pipeline.Caller{}, false
}

// single is the value of a header that says one thing.
func single(h Header, name string) (string, bool) {
	if h == nil {
		return "", false
	}
	lines := h.Values(name)
	if len(lines) == 0 || len(lines[0]) > longest {
		return "", false
	}
	for _, other := range lines[1:] {
		if other != lines[0] {
			return "", false
		}
	}
	value := strings.TrimSpace(lines[0])
	return value, value != ""
}

func addressKey(a netip.Addr) store.Key {
	b := a.As16()
	return store.KeyOf("address", string(b[:]))
}
