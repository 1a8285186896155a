package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Action is what a change does. The empty action is invalid.
type Action string

// The actions. Note is in records alone.
const (
	Create  Action = "create"  // a new override
	Extend  Action = "extend"  // an override ends later, or earlier: TTL from now
	Revoke  Action = "revoke"  // an override ends now
	Approve Action = "approve" // a pending override takes effect
	Undo    Action = "undo"    // the change of one record is taken back, if nothing came after it
	Note    Action = "note"    // something beside the document, see Control.Note
)

// Actor is who asks for a change, as whoever authenticated it says.
type Actor struct {
	Name   string `json:"name"`            // required
	Method string `json:"method,omitzero"` // how it was authenticated, such as token or mtls
	Source string `json:"source,omitzero"` // from which address
	Admin  bool   `json:"admin,omitzero"`  // guard rails of Policy that say so do not hold for it
}

// Change asks for the next version of the document.
type Change struct {
	Action    Action        `json:"action"`
	ID        string        `json:"id,omitzero"`         // of the override; extend, revoke, approve
	Seq       uint64        `json:"seq,omitzero"`        // of the record; undo
	Override  Override      `json:"override,omitzero"`   // create: What, Scope, Set, Value, Rate, Percent, DryRun, LocalOnly, Reason and Incident; the rest is filled in
	TTL       time.Duration `json:"ttl,omitzero"`        // create and extend: how long from now, see Policy.MaxTTL
	Reason    string        `json:"reason,omitzero"`     // of extend, revoke, approve and undo; may be empty
	Expect    uint64        `json:"expect"`              // the version that the author saw; required
	LocalOnly bool          `json:"local_only,omitzero"` // the change is of this worker's own document; set for a create of an override that is

	Actor     Actor  `json:"-"` // required
	Key       string `json:"-"` // idempotency key, up to 200 characters; a repeated one has the first one's result for a day. Default: drawn
	RequestID string `json:"-"` // for the record; may be empty

	undone *Record // undo: the record of Seq
}

// complete fills in what was left out, and names every fault.
func (c *Change) complete() error {
	if c.Key == "" {
		c.Key = draw()
	}
	k := &checker{}
	switch c.Action {
	case Create:
		k.prefix = "override."
		k.override(&c.Override)
		k.prefix = ""
	case Extend, Revoke, Approve:
		if c.ID == "" {
			k.add("id", "is needed")
		}
	case Undo:
		if c.Seq == 0 {
			k.add("seq", "is needed: the number of the record to undo")
		}
	case Note:
	default:
		k.add("action", "must be one of create, extend, revoke, approve, undo, got %q", c.Action)
	}
	k.text("actor.name", c.Actor.Name, 1, 200)
	k.text("reason", c.Reason, 0, 500)
	k.text("request_id", c.RequestID, 0, 200)
	k.text("key", c.Key, 1, 200)
	if err := k.err(); err != nil {
		return err
	}
	if c.Expect == 0 && c.Action != Note {
		return ErrNoVersion
	}
	return nil
}

// keyName is the key among those of all actors.
func (c *Change) keyName() string { return strconv.Quote(c.Actor.Name) + c.Key }

// print tells whether two changes with one key are the same.
func (c *Change) print() string {
	p := *c
	p.undone = nil
	body, err := json.Marshal(&p)
	if err != nil {
		panic("control: a change does not encode: " + err.Error()) // it holds strings and checked numbers
	}
	return hashOf(body)[:16]
}

// Result is what became of a change.
type Result struct {
	Version  uint64   `json:"version"`           // of the document after it
	Seq      uint64   `json:"seq"`               // of its record
	Override Override `json:"override"`          // after it; as it was, when it was revoked
	Replayed bool     `json:"replayed,omitzero"` // the change was made by an earlier call with the same key
}

// Policy is the guard rails. The zero value is usable.
type Policy struct {
	// MaxTTL is how long an override may last from when it is created or
	// extended, 1m … 168h. Default 24h. An administrator may go up to 168h.
	MaxTTL time.Duration
	// MaxBypass is the same for a bypass. Default 1h, or MaxTTL if that is less.
	MaxBypass time.Duration
	// Protected are classes that only an administrator may shed. Critical
	// cannot be shed by anybody. Default none.
	Protected []string
	// ProtectedCallers only an administrator may block or rescale. Default none.
	ProtectedCallers []string
	// TwoPersons lists the kinds that have no effect before another person
	// approves. Dry runs need nobody. Default none.
	TwoPersons []Kind
	// MaxOverrides is how many overrides there may be, those that ended within
	// the hour included, 1 … 10,000. Default 1,000.
	MaxOverrides int
}

// MinTTL is the shortest time that an override may last.
const MinTTL = 10 * time.Second

// longestTTL bounds what an administrator may ask for.
const longestTTL = 7 * 24 * time.Hour

// complete fills in what was left out, and names every fault.
func (p *Policy) complete() error {
	if p.MaxOverrides == 0 {
		p.MaxOverrides = 1000
	}
	bounds := [2]time.Duration{time.Minute, longestTTL}
	errs := []error{within("max ttl", &p.MaxTTL, 24*time.Hour, bounds)}
	errs = append(errs, within("max bypass", &p.MaxBypass, min(time.Hour, max(p.MaxTTL, time.Minute)), bounds))
	if p.MaxOverrides < 1 || p.MaxOverrides > 10_000 {
		errs = append(errs, fmt.Errorf("control: max overrides must be 1 … 10,000, got %d", p.MaxOverrides))
	}
	for _, word := range p.Protected {
		if _, err := priority.Parse(word); err != nil {
			errs = append(errs, fmt.Errorf("control: protected: %w", err))
		}
	}
	for _, kind := range p.TwoPersons {
		if !slices.Contains(Kinds, kind) {
			errs = append(errs, fmt.Errorf("control: two persons: must be among %s, got %q", words(Kinds), kind))
		}
	}
	return errors.Join(errs...)
}
