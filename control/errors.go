package control

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoVersion says that a change did not say which version its author saw.
var ErrNoVersion = errors.New("control: a change must name the version of the document that its author saw")

// InvalidError lists what is wrong with a change. Nothing was changed.
type InvalidError struct{ Faults []Fault }

// Fault is one thing that is wrong.
type Fault struct {
	Path    string `json:"path"`    // such as override.scope.below
	Problem string `json:"problem"` // what is allowed, and what was given
}

// Error is the sentence for people.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = f.Path + ": " + f.Problem
	}
	return "control: " + strings.Join(parts, "; ")
}

// StaleError says that the document is another than the author of a change
// saw. Nothing was changed, and the attempt is in the audit trail.
type StaleError struct {
	Expected uint64 // the version that the author saw
	Version  uint64 // the version that there is
}

// Error is the sentence for people.
func (e *StaleError) Error() string {
	return fmt.Sprintf("control: the document changed: version %d was expected, and it is %d: read it again", e.Expected, e.Version)
}

// UnknownError says that the storage did not answer while it was asked to make
// a change, so that the change was made, or not, or will be in a moment. Read
// again, or send the same change with the same key: it is not made twice.
type UnknownError struct {
	Key string // the key to send again
	Err error
}

// Error is the sentence for people.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("control: whether the change was made is not known, read the document again, or send the change again with key %q: %v", e.Key, e.Err)
}

// Unwrap is the storage's error.
func (e *UnknownError) Unwrap() error { return e.Err }

// UnavailableError says that the storage could not be read. Nothing was
// changed, by this call at least.
type UnavailableError struct{ Err error }

// Error is the sentence for people.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("control: the storage is not available, nothing was changed: %v", e.Err)
}

// Unwrap is the storage's error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ProtectedError says that guard rails keep the actor from a change that an
// administrator may make. The attempt is in the audit trail.
type ProtectedError struct{ What string }

// Error is the sentence for people.
func (e *ProtectedError) Error() string { return "control: " + e.What }

// TTLError says that an override would last too long.
type TTLError struct {
	What     Kind
	Asked    time.Duration
	Shortest time.Duration
	Longest  time.Duration
}

// Error is the sentence for people.
func (e *TTLError) Error() string {
	return fmt.Sprintf("control: a %s lasts %s … %s, got %s: a permanent change is a change of the configuration",
		e.What, e.Shortest, e.Longest, e.Asked)
}

// SecondPersonError says that somebody else must act on the override.
type SecondPersonError struct{ ID, Author string }

// Error is the sentence for people.
func (e *SecondPersonError) Error() string {
	return fmt.Sprintf("control: override %s is by %s, so somebody else must approve or prolong it", e.ID, e.Author)
}

// NotFoundError says that there is no such override, or that it has ended.
type NotFoundError struct{ ID string }

// Error is the sentence for people.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("control: there is no override %s, or it has ended", e.ID)
}

// ConflictError says that a change cannot be undone because something came
// after it.
type ConflictError struct{ What string }

// Error is the sentence for people.
func (e *ConflictError) Error() string { return "control: " + e.What }

// KeyReusedError says that an idempotency key was used for another change.
type KeyReusedError struct{ Key string }

// Error is the sentence for people.
func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("control: the idempotency key %q was used for another change", e.Key)
}

// FullError says that there are as many overrides as there may be.
type FullError struct{ Most int }

// Error is the sentence for people.
func (e *FullError) Error() string {
	return fmt.Sprintf("control: there are %d overrides already, revoke some", e.Most)
}
