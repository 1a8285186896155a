package memstore

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/store"
)

// versions numbers the limits on tokens that entries were written under, so
// that an entry tells in 16 bits how to read it, and a changed limit can carry
// over what was spent. Version 0 are the limits on slots, which need no reading.
//
// Numbers that no entry bears are used again when all are taken; see reclaim.
type versions struct {
	mu   sync.Mutex // held to register
	view atomic.Pointer[view]
	most int // numbers that may be in use
}

// view is what is registered. A limit and its number are entered in place; the
// view is replaced when it has to grow, and when numbers are taken back.
type view struct {
	limits []atomic.Pointer[store.Limit] // by number
	index  []atomic.Uint32               // numbers by fingerprint, open addressing, at most half full
	next   int                           // the first number that was never used; under mu
}

var errVersions = errors.New("memstore: too many different limits are in use at once")

func newView(size int) *view {
	return &view{limits: make([]atomic.Pointer[store.Limit], size), index: make([]atomic.Uint32, 2*size), next: 1}
}

func newVersions() *versions {
	vs := &versions{most: 1 << 16}
	vs.view.Store(newView(16))
	return vs
}

// number is the number of a limit, if it has one.
func (v *view) number(l *store.Limit) (n uint16, ok bool) {
	if l.Kind == store.Slots {
		return 0, true
	}
	at := l.Fingerprint
	for range v.index {
		at &= uint64(len(v.index) - 1)
		n := v.index[at].Load()
		if n == 0 {
			return 0, false
		}
		if v.limits[n].Load().Fingerprint == l.Fingerprint {
			return uint16(n), true
		}
		at++
	}
	return 0, false
}

func (v *view) enter(l *store.Limit, n int) {
	v.limits[n].Store(l)
	for at := l.Fingerprint; ; at++ {
		at &= uint64(len(v.index) - 1)
		if v.index[at].Load() == 0 {
			v.index[at].Store(uint32(n))
			return
		}
	}
}

// register gives a limit a number. No lock of an entry or a shard may be held.
//
// A number may be written to an entry by who has the lock of the entry, or the
// mutex of its shard, and has found it since; see reclaim.
func (s *Store) register(l *store.Limit) (err error) {
	if _, ok := s.versions.view.Load().number(l); ok {
		return nil
	}
	s.versions.mu.Lock()
	defer s.versions.mu.Unlock()
	v := s.versions.view.Load()
	if _, ok := v.number(l); ok {
		return nil
	}
	if v.next == len(v.limits) {
		if v, err = s.moreVersions(v); err != nil {
			return err
		}
	}
	v.enter(l, v.next)
	v.skip()
	return nil
}

// skip moves next to a number that is free.
func (v *view) skip() {
	for v.next < len(v.limits) && v.limits[v.next].Load() != nil {
		v.next++
	}
}

// moreVersions publishes a view with room, by growing or by taking back.
func (s *Store) moreVersions(v *view) (*view, error) {
	if len(v.limits) < s.versions.most {
		return s.republish(v, 2*len(v.limits), func(int) bool { return true }), nil
	}
	used := s.reclaim(v)
	v = s.republish(v, len(v.limits), func(n int) bool { return used[n] })
	if v.next == len(v.limits) {
		return v, errVersions
	}
	return v, nil
}

// reclaim finds the numbers that entries bear. From before it begins nobody can
// look a number up; who has done so already, to write it, has a lock that
// reclaim waits for.
func (s *Store) reclaim(v *view) (used []bool) {
	blind := &view{limits: v.limits, index: make([]atomic.Uint32, 2)}
	s.versions.view.Store(blind)
	used = make([]bool, len(v.limits))
	for i := range s.shards {
		s.shards[i].visit(func(e *entry) {
			used[uint16(e.name.Load())] = true
		})
	}
	return used
}

func (s *Store) republish(old *view, size int, keep func(int) bool) *view {
	v := newView(size)
	for n := 1; n < len(old.limits); n++ {
		if l := old.limits[n].Load(); l != nil && keep(n) {
			v.enter(l, n)
		}
	}
	v.skip()
	s.versions.view.Store(v)
	return v
}
