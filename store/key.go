package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// Key names whose state a claim is about: a caller, an address, everybody. It
// is a hash of length-prefixed parts, so that no choice of parts collides with
// another, no byte of a caller's id reaches a store's key space, and all of
// one owner's state lies together.
type Key struct{ Hi, Lo uint64 }

// KeyOf hashes the parts of a name. It does not allocate for parts of up to
// 64 bytes in all, and costs about one SHA-256 block.
func KeyOf(parts ...string) Key {
	var stack [128]byte
	buf := stack[:0]
	for _, p := range parts {
		buf = binary.AppendUvarint(buf, uint64(len(p)))
		buf = append(buf, p...)
	}
	sum := sha256.Sum256(buf)
	return Key{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// Join is the key of several owners together, a caller at an address for
// example. The order of the keys matters.
func Join(keys ...Key) Key {
	var stack [64]byte
	buf := append(stack[:0], byte(len(keys)), 0xff) // no length prefix of KeyOf starts so
	for _, k := range keys {
		buf = k.append(buf)
	}
	sum := sha256.Sum256(buf)
	return Key{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// IsZero reports whether the key was never set.
func (k Key) IsZero() bool { return k == Key{} }

// String is the key in 22 letters, digits, - and _.
func (k Key) String() string {
	return base64.RawURLEncoding.EncodeToString(k.append(nil))
}

// ParseKey reads what String wrote.
func ParseKey(text string) (k Key, err error) {
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(bytes) != 16 {
		return k, fmt.Errorf("store: %q must be the 22 letters, digits, - and _ of a key", text)
	}
	return Key{binary.BigEndian.Uint64(bytes[:8]), binary.BigEndian.Uint64(bytes[8:])}, nil
}

func (k Key) append(buf []byte) []byte {
	buf = binary.BigEndian.AppendUint64(buf, k.Hi)
	return binary.BigEndian.AppendUint64(buf, k.Lo)
}
