package pipeline

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/store"
)

// Owner says whose requests count together under a limit: the parts that make
// the key of its state. No parts: everybody's.
type Owner []OwnerPart

// OwnerPart is one part of an owner. The zero value is the caller.
type OwnerPart struct {
	Kind   OwnerKind
	Header string // the header's name, when Kind is ByHeader
}

// OwnerKind is what a part is made of. The zero value is the caller.
type OwnerKind uint8

// The kinds of parts.
const (
	ByCaller  OwnerKind = iota // who sends the request, as the edge established it
	ByAddress                  // the client's address; IPv6 by its /64
	ByRoute                    // the route of the table
	ByClass                    // the priority class
	ByHost                     // the host that the request names
	ByHeader                   // the value of a header; requests without it count together
)

var ownerKinds = []string{"caller", "address", "route", "class", "host"}

// ParseOwner reads parts: caller, address, route, class, host or header:Name.
func ParseOwner(words ...string) (Owner, error) {
	var o Owner
	for _, word := range words {
		if name, ok := strings.CutPrefix(word, "header:"); ok && name != "" {
			o = append(o, OwnerPart{ByHeader, name})
			continue
		}
		i := slices.Index(ownerKinds, word)
		if i < 0 {
			return nil, fmt.Errorf("pipeline: unknown key %q, allowed: %s, header:Name", word, strings.Join(ownerKinds, ", "))
		}
		o = append(o, OwnerPart{Kind: OwnerKind(i)})
	}
	return o, nil
}

var (
	everybody = store.KeyOf("everybody")
	nowhere   = store.KeyOf("address", "unknown")
)

// CallerAlone reports whether the owner is the caller and nothing else.
func (o Owner) CallerAlone() bool { return len(o) == 1 && o[0].Kind == ByCaller }

// Key is whose state a request spends. It does not allocate for up to four
// parts, and hashes nothing for a caller or an address alone.
func (o Owner) Key(r *Request) store.Key {
	switch {
	case len(o) == 0:
		return everybody
	case len(o) > 1:
	case o[0].Kind == ByCaller: // the rule
		return r.Caller.ID
	default:
		return o[0].key(r)
	}
	return o.join(r)
}

func (o Owner) join(r *Request) store.Key {
	var stack [4]store.Key
	keys := stack[:0]
	for _, part := range o {
		keys = append(keys, part.key(r))
	}
	return store.Join(keys...)
}

func (o OwnerPart) key(r *Request) store.Key {
	switch o.Kind {
	case ByCaller:
		return r.Caller.ID
	case ByAddress:
		return addressKey(r.Address)
	case ByRoute:
		return store.KeyOf("route", r.RouteName())
	case ByClass:
		return store.KeyOf("class", r.Class.String())
	case ByHost:
		return store.KeyOf("host", r.Host)
	case ByHeader:
		if r.Header == nil {
			return store.KeyOf("header", o.Header, "")
		}
		return store.KeyOf("header", o.Header, r.Header.Get(o.Header))
	}
	return everybody
}

// addressKey is an address as a key, without hashing: an address is no longer
// than a key. IPv6 counts by its /64, which one subscriber has to itself.
func addressKey(a netip.Addr) store.Key {
	if !a.IsValid() {
		return nowhere
	}
	a = a.Unmap()
	b := a.As16()
	key := store.Key{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}
	if a.Is6() {
		key.Lo = 0
	}
	return key
}
