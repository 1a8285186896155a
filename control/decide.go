package control

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// decide is the document's machine: what a change makes of a state at a moment
// of the storage's clock. Besides the next state and its record it answers who
// asked: with a result, or with the error that the record tells, too. Without
// a next state nothing is to be stored.
func (p *Policy) decide(s *state, c *Change, now time.Time) (next *state, stored []byte, res Result, err error) {
	print := c.print()
	if u := s.key(c.keyName()); u != nil {
		if u.Print != print {
			return nil, nil, res, &KeyReusedError{c.Key}
		}
		res = u.Result
		res.Replayed = true
		return nil, nil, res, nil
	}
	next = s.next(now)
	r := Record{Time: now, Actor: c.Actor, Action: c.Action, Subject: c.ID, Reason: c.Reason, RequestID: c.RequestID, Key: c.Key}
	err = p.apply(next, s, c, now, &r)
	if err != nil && !recorded(err) {
		return nil, nil, res, err
	}
	r.Outcome = Applied
	switch {
	case c.Action == Note:
		r.Outcome, r.Detail, r.Reason, r.Key = Noted, c.Reason, "", ""
	case err != nil:
		next = s.next(now)
		r.Before, r.After = nil, nil
		r.Outcome, r.Detail = outcomeOf(err), strings.TrimPrefix(err.Error(), "control: ")
	default:
		next.Version++
	}
	r.Seq, r.Previous, r.Version = s.Seq+1, s.Head, next.Version
	stored = r.seal()
	next.Seq, next.Head = r.Seq, r.Hash
	if r.Outcome == Applied {
		res = Result{Version: next.Version, Seq: r.Seq, Override: *either(r.After, r.Before)}
		next.Keys = append(next.Keys, used{Key: c.keyName(), Print: print, At: now, Result: res})
	}
	return next, stored, res, err
}

// recorded reports whether an attempt that failed so belongs in the trail.
func recorded(err error) bool {
	return isStale(err) || isRefused(err)
}

func isStale(err error) bool {
	_, is := errors.AsType[*StaleError](err)
	return is
}

func isRefused(err error) bool {
	_, protected := errors.AsType[*ProtectedError](err)
	_, second := errors.AsType[*SecondPersonError](err)
	return protected || second
}

func outcomeOf(err error) Outcome {
	if isStale(err) {
		return Stale
	}
	return Refused
}

func either(a, b *Override) *Override {
	if a != nil {
		return a
	}
	return b
}

// apply changes next, and fills in the record.
func (p *Policy) apply(next, s *state, c *Change, now time.Time, r *Record) error {
	if c.Expect != s.Version && c.Action != Note {
		return &StaleError{c.Expect, s.Version}
	}
	switch c.Action {
	case Create:
		return p.create(next, c, now, r)
	case Extend, Revoke, Approve:
		return p.alter(next, c, now, r)
	case Undo:
		return p.undo(next, c, now, r)
	case Note:
		return nil
	}
	return fmt.Errorf("control: %s is no change of a document", c.Action)
}

func (p *Policy) create(next *state, c *Change, now time.Time, r *Record) error {
	if len(next.Overrides) >= p.MaxOverrides {
		return &FullError{p.MaxOverrides}
	}
	if err := p.allows(&c.Override, c.TTL, &c.Actor); err != nil {
		return err
	}
	o := c.Override
	o.ID = "ov-" + strings.ToLower(rand.Text()[:10])
	if o.What == Shed && o.Percent == 0 {
		o.Percent = 100
	}
	o.Author, o.Approver = c.Actor.Name, ""
	o.Created, o.ExpiresAt = now, now.Add(c.TTL)
	o.LocalOnly = c.LocalOnly
	o.Pending = p.needsTwo(&o)
	next.Overrides = append(next.Overrides, o)
	r.Subject, r.After, r.Incident = o.ID, &o, o.Incident
	if r.Reason == "" {
		r.Reason = o.Reason
	}
	return nil
}

func (p *Policy) needsTwo(o *Override) bool {
	return !o.DryRun && slices.Contains(p.TwoPersons, o.What)
}

// alter changes an override that is there.
func (p *Policy) alter(next *state, c *Change, now time.Time, r *Record) error {
	o := next.Find(c.ID)
	if o == nil || !now.Before(o.ExpiresAt) {
		return &NotFoundError{c.ID}
	}
	before := *o
	r.Before, r.Incident = &before, o.Incident
	switch c.Action {
	case Revoke:
		next.Overrides = slices.DeleteFunc(next.Overrides, func(o Override) bool { return o.ID == c.ID })
		return nil
	case Extend:
		if err := p.extend(o, c, now); err != nil {
			return err
		}
	default:
		if err := approve(o, c); err != nil {
			return err
		}
	}
	after := *o
	r.After = &after
	return nil
}

func (p *Policy) extend(o *Override, c *Change, now time.Time) error {
	if err := p.allows(o, c.TTL, &c.Actor); err != nil {
		return err
	}
	until := now.Add(c.TTL)
	if until.After(o.ExpiresAt) && p.needsTwo(o) && o.Author == c.Actor.Name {
		return &SecondPersonError{o.ID, o.Author}
	}
	o.ExpiresAt = until
	return nil
}

func approve(o *Override, c *Change) error {
	switch {
	case !o.Pending:
		return &ConflictError{fmt.Sprintf("override %s needs no approval", o.ID)}
	case o.Author == c.Actor.Name:
		return &SecondPersonError{o.ID, o.Author}
	}
	o.Pending, o.Approver = false, c.Actor.Name
	return nil
}

// allows applies the guard rails.
func (p *Policy) allows(o *Override, ttl time.Duration, a *Actor) error {
	longest := p.MaxTTL
	switch {
	case o.What == Bypass:
		longest = p.MaxBypass
	case a.Admin:
		longest = longestTTL
	}
	if ttl < MinTTL || ttl > longest {
		return &TTLError{o.What, ttl, MinTTL, longest}
	}
	return p.protects(o, a)
}

// protects keeps what only an administrator may do from everybody else.
func (p *Policy) protects(o *Override, a *Actor) error {
	if a.Admin || o.DryRun {
		return nil
	}
	if o.What == Shed {
		below, _ := priority.Parse(o.Scope.Below)
		for _, word := range p.Protected {
			if class, _ := priority.Parse(word); class < below {
				return &ProtectedError{fmt.Sprintf("class %s is protected: only an administrator may shed it", word)}
			}
		}
	}
	if o.What == Caller && o.Set != Exempt && slices.Contains(p.ProtectedCallers, o.Scope.Caller) {
		return &ProtectedError{fmt.Sprintf("caller %q is protected: only an administrator may block or rescale it", o.Scope.Caller)}
	}
	return nil
}
