package admin

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what somebody may do here. The zero role may do nothing.
type Role uint8

// The roles. A responder may all that a viewer may, and an administrator all.
const (
	Nobody    Role = iota // is not known
	Viewer                // reads the state
	Auditor               // reads the state, reports and the audit trail
	Responder             // changes overrides within the guard rails, and reads the state and reports
	Admin                 // changes overrides and tokens, and reads everything
)

var roles = [...]string{"nobody", "viewer", "auditor", "responder", "admin"}

// String is the role's word.
func (r Role) String() string { return roles[r] }

// MarshalText is the role's word.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the word of a role that somebody can have.
func (r *Role) UnmarshalText(text []byte) error {
	role, err := ParseRole(string(text))
	if err != nil {
		return err
	}
	*r = role
	return nil
}

// ParseRole reads viewer, auditor, responder or admin.
func ParseRole(word string) (Role, error) {
	i := slices.Index(roles[1:], word)
	if i < 0 {
		return Nobody, fmt.Errorf("admin: unknown role %q, allowed: %s", word, strings.Join(roles[1:], ", "))
	}
	return Role(i + 1), nil
}

// right is what a route asks for.
type right uint8

// The rights.
const (
	reading   right = iota // of the state
	reporting              // on an incident, with what the trail has of it
	auditing               // of the trail
	acting                 // on overrides
	ruling                 // over tokens
)

// may reports whether a role has a right.
func (r Role) may(what right) bool {
	switch r {
	case Admin:
		return true
	case Responder:
		return what == reading || what == reporting || what == acting
	case Auditor:
		return what == reading || what == reporting || what == auditing
	case Viewer:
		return what == reading
	case Nobody:
	}
	return false
}
