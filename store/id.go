package store

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// String is the id in 22 letters, digits, - and _.
func (id ID) String() string {
	return string(id.AppendTo(nil))
}

// AppendTo appends what String returns.
func (id ID) AppendTo(buf []byte) []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], id.Hi)
	binary.BigEndian.PutUint64(raw[8:], id.Lo)
	return base64.RawURLEncoding.AppendEncode(buf, raw[:])
}

// ParseID reads what String wrote.
func ParseID(text string) (ID, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != 16 {
		return ID{}, fmt.Errorf("store: %q is not the id of a request", text)
	}
	return ID{binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])}, nil
}
