package memstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-go/plimsoll/store"
)

// Return gives back slots, and gives back, charges or resets tokens. The
// context is not needed.
func (s *Store) Return(_ context.Context, returns []store.Return) (err error) {
	for i := range returns {
		r := &returns[i]
		if r.Limit.Kind == store.Slots && s.letGoAtOnce(r) {
			continue
		}
		if e := s.settle(r); e != nil {
			err = errors.Join(err, fmt.Errorf("memstore: return %s: %w", r.Limit.Name, e))
		}
	}
	return err
}

// Renew prolongs the leases of slots that are still held. The context is not
// needed.
func (s *Store) Renew(_ context.Context, held []store.Return) error {
	for i := range held {
		s.renew(&held[i])
	}
	return nil
}

// keyOf is the key that a claim was granted under.
func (s *Store) keyOf(r *store.Return) key {
	if r.Handle&spilled != 0 && !r.AnyGrant {
		return s.hasher.overflow(r.Limit.ID)
	}
	return s.hasher.key(r.Owner, r.Limit.ID)
}

// find locks the entry of a key, if there is one.
func (s *Store) find(k key) (at site, word uint64, ok bool) {
	for {
		if !s.locate(k, &at) {
			return at, 0, false
		}
		if word, ok = at.lock(k.print); ok {
			return at, word, true
		}
	}
}

func (s *Store) settle(r *store.Return) error {
	k := s.keyOf(r)
	for {
		at, word, ok := s.find(k)
		switch {
		case ok && r.Limit.Kind == store.Slots:
			s.letGo(r, &at, word, k.print)
			return nil
		case ok && s.settleTokens(r, &at, word, k.print):
			return nil
		case ok:
			if err := s.register(r.Limit); err != nil {
				return err
			}
			continue
		case r.Limit.Kind == store.Slots || r.Tokens >= 0 || r.Reset:
			return nil // nothing is owed
		}
		var err error
		if _, k, _, err = s.enter(k, r.Limit, r.Now, s.maxKeys); err != nil {
			return err
		}
	}
}

// settleTokens settles a return with an entry, and unlocks it. It fails if the
// return's limit is needed and has no number.
func (s *Store) settleTokens(r *store.Return, at *site, word, print uint64) (ok bool) {
	written, v := uint16(at.entry.name.Load()), s.versions.view.Load()
	c := cell{words: words{word: word, extra: at.entry.extra}, limit: v.limits[written].Load(), version: written, shard: at.shard}
	c.age(r.Now)
	ok = true
	if c.word == 0 && r.Tokens < 0 && !same(c.limit, r.Limit) { // as if never used
		if written, ok = v.number(r.Limit); ok {
			c.carry(r.Limit, written, r.Now)
		}
	}
	if ok {
		c.settle(r, r.Now)
	}
	at.entry.write(print, &c)
	return ok
}

// letGo takes a slot from its holder, if it is still held.
func (s *Store) letGo(r *store.Return, at *site, word, print uint64) {
	mark, told := s.hasher.markOf(r.ID), uint32(r.Handle)
	c := cell{words: words{word: word, extra: at.entry.extra}, shard: at.shard, print: print}
	c.unpack()
	c.prune(r.Now)
	if n := c.holderOf(mark, told); n != 0 {
		c.unlink(n)
		if countOf(c.word) == 0 {
			c.extra = r.Now
		}
	}
	at.entry.write(print, &c)
}

func (s *Store) renew(r *store.Return) {
	k := s.keyOf(r)
	at, word, ok := s.find(k)
	if !ok || r.Limit.Kind != store.Slots {
		if ok {
			at.entry.word.Store(word)
		}
		return
	}
	c := cell{words: words{word: word, extra: at.entry.extra}, shard: at.shard, print: k.print}
	c.unpack()
	c.prune(r.Now)
	switch n := c.holderOf(s.hasher.markOf(r.ID), uint32(r.Handle)); n {
	case 0:
	case loner:
		c.extra = leaseEnd(r.Now, r.Limit)
	default:
		h := at.shard.holders.at(n)
		h.expires = leaseEnd(r.Now, r.Limit)
		c.extra = min(c.extra, h.expires)
	}
	at.entry.write(k.print, &c)
}
