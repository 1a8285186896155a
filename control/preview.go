package control

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/insight"
)

// Preview is what is said of a change before it is made.
type Preview struct {
	Version  uint64   `json:"version"`           // of the document that the change would be made on
	Override Override `json:"override"`          // as it would be, without an id
	Pending  bool     `json:"pending"`           // it would wait for another person
	Unmet    string   `json:"unmet,omitzero"`    // why it would have no effect in this worker; "" if it would
	Replaces []string `json:"replaces,omitzero"` // ids of active overrides on the same thing, which it would go above
	Past     Past     `json:"past"`              // what it would have done
}

// Past is what an override would have done in the last minutes, in this worker.
type Past struct {
	insight.Answer
	Known bool   `json:"known"` // false: there is no way to tell, and Note says why
	Note  string `json:"note"`  // how it was reckoned
}

// Foresee says what an override would do: Config.Foresee.
type Foresee func(o *Override, window time.Duration) (past Past, unmet string)

// Preview says what a create would do, and makes nothing. It applies the same
// guard rails as Do, and errs like it; the version that the change expects is
// not compared.
func (c *Control) Preview(ctx context.Context, change Change, window time.Duration) (Preview, error) {
	change.Action = Create
	change.LocalOnly = change.LocalOnly || change.Override.LocalOnly
	change.Expect = max(change.Expect, 1)
	if err := change.complete(); err != nil {
		return Preview{}, err
	}
	b := c.book(change.LocalOnly)
	v, err := b.load(ctx)
	if err != nil {
		return Preview{}, &UnavailableError{err}
	}
	change.Expect = v.state.Version
	change.Key = draw()
	_, _, res, err := c.config.Policy.decide(v.state, &change, v.now)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Version: v.state.Version, Override: res.Override, Pending: res.Override.Pending}
	p.Override.ID = ""
	active, _ := c.active(time.Now())
	for i := range active {
		if o := &active[i]; o.What == p.Override.What && o.What != Shed && o.Scope == p.Override.Scope {
			p.Replaces = append(p.Replaces, o.ID)
		}
	}
	if c.config.Foresee == nil {
		p.Past.Note = "nothing is remembered of the past"
		return p, nil
	}
	p.Past, p.Unmet = c.config.Foresee(&p.Override, window)
	return p, nil
}
