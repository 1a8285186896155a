package control

import (
	"maps"
	"slices"
	"time"
)

// State is the control plane as this worker sees it now.
type State struct {
	Document Document  `json:"document"` // the fleet's
	Local    Document  `json:"local"`    // this worker's own
	Revision uint64    `json:"revision"` // of the fleet's state, as the heartbeat carries it: it rises with each record
	Now      time.Time `json:"now"`      // the clock of the fleet's storage, by which overrides end
	Heard    time.Time `json:"heard"`    // when the storage last answered, by this process's clock; zero if it never did
	Error    string    `json:"error"`    // why it did not answer the last time; "" when it did
	// Lost says that the storage is older than what this worker has seen of it.
	// What is known here holds until it ends.
	Lost bool `json:"lost"`

	Active  []Override `json:"active"`  // what holds here and now, of both documents, oldest first
	Unmet   []Unmet    `json:"unmet"`   // of these, what has no effect here
	Applied time.Time  `json:"applied"` // when the effects last changed here
	Fault   string     `json:"fault"`   // why they could not be made to hold; what held before goes on
}

// Unmet is an override that has no effect in this worker.
type Unmet struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// State reads what is known. It waits for nothing.
func (c *Control) State() State {
	now := time.Now()
	shared, local := c.shared.current(), c.local.current()
	s := State{Revision: shared.revision, Lost: shared.lost, Heard: shared.read, Now: shared.clock(now)}
	if shared.state != nil {
		s.Document = shared.state.Document
	}
	if local.state != nil {
		s.Local = local.state.Document
	}
	if shared.err != nil {
		s.Error = shared.err.Error()
	}
	s.Active, _ = c.active(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Applied = c.applied.at
	if c.applied.err != nil {
		s.Fault = c.applied.err.Error()
	}
	for _, id := range slices.Sorted(maps.Keys(c.applied.unmet)) {
		s.Unmet = append(s.Unmet, Unmet{id, c.applied.unmet[id]})
	}
	return s
}

// Effects is what Apply was told last.
func (c *Control) Effects() Effects {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied.effects
}

// active is the overrides of both documents that hold at a moment of this
// process's clock, and how long it is until the first of them ends.
func (c *Control) active(at time.Time) (list []Override, next time.Duration) {
	next = -1
	for _, b := range []*book{c.shared, c.local} {
		v := b.current()
		if v.state == nil {
			continue
		}
		now := v.clock(at)
		for _, o := range v.state.Overrides {
			if !o.Active(now) {
				continue
			}
			list = append(list, o)
			if left := o.ExpiresAt.Sub(now); next < 0 || left < next {
				next = left
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Override) int { return a.Created.Compare(b.Created) })
	return list, next
}
