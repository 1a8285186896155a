package identity

import (
	"fmt"
	"strings"
)

// Field is a header in which proxies say for whom they forward. The zero value
// is X-Forwarded-For.
type Field uint8

// The fields.
const (
	XForwardedFor Field = iota // X-Forwarded-For: client, proxy, proxy
	Forwarded                  // Forwarded: for=client;proto=https, for=proxy (RFC 7239)
	NoField                    // none: the client is whoever opened the connection
)

var fieldWords = [...]string{"x-forwarded-for", "forwarded", "none"}
var fieldNames = [...]string{"X-Forwarded-For", "Forwarded", ""}

// String is x-forwarded-for, forwarded or none.
func (f Field) String() string { return fieldWords[f] }

// ParseField reads what String wrote.
func ParseField(s string) (Field, error) {
	for i, word := range fieldWords {
		if word == s {
			return Field(i), nil
		}
	}
	return XForwardedFor, fmt.Errorf("identity: unknown field %q, allowed: %s", s, strings.Join(fieldWords[:], ", "))
}

// maxHops is how many proxies in a row are followed. Behind more of them the
// client is not known.
const maxHops = 64

// behind follows the field of a trusted peer from the right, over all its
// lines, to the first hop that is not trusted: what is to the left of it was
// written by that client. If all hops are trusted, it is the farthest. A hop
// that does not parse hides who is behind it, so the client is not known.
func (i *Identity) behind(peer host, h Header) (host, bool) {
	if i.field == NoField {
		return peer, true
	}
	hop, hops := peer, 0
	lines := h.Values(fieldNames[i.field])
	for n := len(lines) - 1; n >= 0; n-- {
		for line, more := lines[n], true; more; {
			var entry string
			var ok bool
			line, entry, more = i.field.cutLast(line)
			hop, ok = i.field.hop(entry)
			if hops++; !ok || hops > maxHops {
				return host{}, false
			}
			if !i.trusts(hop.addr) {
				return hop, true
			}
		}
	}
	return hop, true
}

// cutLast splits off the last entry of a line.
func (f Field) cutLast(line string) (before, last string, more bool) {
	at := strings.LastIndexByte(line, ',')
	if f == Forwarded {
		at = lastComma(line)
	}
	if at < 0 {
		return "", line, false
	}
	return line[:at], line[at+1:], true
}

func (f Field) hop(entry string) (host, bool) {
	if f == Forwarded {
		node, ok := forNode(strings.Trim(entry, " \t"))
		if !ok {
			return host{}, false
		}
		return parseNode(node)
	}
	return parseHost(entry)
}

// lastComma finds the last comma outside quotes. It reads from the right, so
// that a quote which a client left open cannot swallow what a proxy appended:
// seen from there a quote ends at the first quote that is not escaped.
func lastComma(s string) int {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == ',' && !quoted:
			return i
		case s[i] == '"' && !quoted:
			quoted = true
		case s[i] == '"' && !escaped(s[:i]):
			quoted = false
		}
	}
	return -1
}

// escaped reports whether a text ends in an odd number of backslashes.
func escaped(s string) bool {
	n := 0
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// forNode is the value of the one for= parameter of a forwarded-element.
func forNode(element string) (node string, ok bool) {
	for element != "" {
		name, after, found := strings.Cut(element, "=")
		name = strings.TrimLeft(name, " \t")
		if !found || !isToken(name) {
			return "", false
		}
		value, rest, fine := cutValue(after)
		if !fine {
			return "", false
		}
		if strings.EqualFold(name, "for") {
			if ok || strings.IndexByte(value, '\\') >= 0 {
				return "", false
			}
			node, ok = value, true
		}
		element = rest
	}
	return node, ok
}

// cutValue splits a token or a quoted string, without its quotes, from the
// parameters that follow.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ";")
		value = strings.TrimRight(value, " \t")
		return value, rest, isToken(value)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			rest = strings.TrimLeft(s[i+1:], " \t")
			if rest != "" && rest[0] != ';' {
				return "", "", false
			}
			return s[1:i], strings.TrimPrefix(rest, ";"), true
		}
	}
	return "", "", false
}

// isToken reports whether a text has none of what ends a token: a quote in the
// name of a parameter would be one that lastComma takes for another's.
func isToken(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\"(),/:;<=>?@[\\]{}") }

// parseNode reads a node of RFC 7239. Unknown and hidden ones (unknown, _name)
// do not parse, nor does an IPv6 address without brackets.
func parseNode(node string) (host, bool) {
	if node == "" || node[0] != '[' && strings.Count(node, ":") > 1 {
		return host{}, false
	}
	return parseHost(node)
}
