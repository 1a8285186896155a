package control

import (
	"fmt"
	"slices"
	"time"
)

// undo takes back the change that a record tells, if its override is still as
// the change left it.
func (p *Policy) undo(next *state, c *Change, now time.Time, r *Record) error {
	done := c.undone
	if done == nil || done.Outcome != Applied {
		return &ConflictError{fmt.Sprintf("record %d changed nothing, so there is nothing to undo", c.Seq)}
	}
	r.Subject = done.Subject
	o := next.Find(done.Subject)
	if !same(o, done.After) {
		return &ConflictError{fmt.Sprintf("override %s was changed since record %d", done.Subject, c.Seq)}
	}
	if o != nil {
		before := *o
		r.Before, r.Incident = &before, o.Incident
	}
	if done.Before == nil {
		next.Overrides = slices.DeleteFunc(next.Overrides, func(o Override) bool { return o.ID == done.Subject })
		return nil
	}
	return p.restore(next, c, now, r)
}

// restore makes an override what it was.
func (p *Policy) restore(next *state, c *Change, now time.Time, r *Record) error {
	was := *c.undone.Before
	switch {
	case !now.Before(was.ExpiresAt):
		return &NotFoundError{was.ID}
	case p.needsTwo(&was) && was.Author == c.Actor.Name && !was.Pending:
		return &SecondPersonError{was.ID, was.Author}
	}
	if err := p.protects(&was, &c.Actor); err != nil {
		return err
	}
	r.After, r.Incident = &was, was.Incident
	if o := next.Find(was.ID); o != nil {
		*o = was
		return nil
	}
	if len(next.Overrides) >= p.MaxOverrides {
		return &FullError{p.MaxOverrides}
	}
	next.Overrides = append(next.Overrides, was)
	slices.SortStableFunc(next.Overrides, func(a, b Override) int { return a.Created.Compare(b.Created) })
	return nil
}

func same(a, b *Override) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
