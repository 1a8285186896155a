package insight

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// A sketch keeps the heaviest of any number of keys (space-saving: a key that
// finds no place takes that of the lightest, and its count for its own error).
// Sketches are kept for a term and the one before, so that who was heavy an
// hour ago is forgotten.
const (
	sketchPlaces = 64
	sketchShards = 8
	sketchTerm   = 5 * time.Minute
)

// name is what to call a key.
type name struct {
	text, source string
	secret       bool
}

func nameOf(q *pipeline.Request) name {
	if q.Caller.Secret {
		return name{source: q.Caller.Source, secret: true}
	}
	return name{text: q.Caller.Name, source: q.Caller.Source}
}

// sketches is one for refusals and one for time held, in shards by key.
type sketches struct{ shards [sketchShards]sketchShard }

type sketchShard struct {
	mu      sync.Mutex
	began   int64
	refused [2]sketch // of this term, and of the one before
	held    [2]sketch
	_       [40]byte
}

// sketch is one of them.
type sketch struct {
	keys  [sketchPlaces]store.Key
	count [sketchPlaces]int64
	over  [sketchPlaces]int64 // by how much the count may be too high
	names [sketchPlaces]name
	hint  [256]uint8 // where a key probably is, by a part of it
}

func (s *sketches) refused(now int64, key store.Key, n name) {
	shard := &s.shards[key.Lo%sketchShards]
	shard.mu.Lock()
	shard.turn(now)
	shard.refused[0].add(key, n, 1)
	shard.mu.Unlock()
}

func (s *sketches) held(now int64, key store.Key, n name, held int64) {
	shard := &s.shards[key.Lo%sketchShards]
	shard.mu.Lock()
	shard.turn(now)
	shard.held[0].add(key, n, held)
	shard.mu.Unlock()
}

// turn begins another term when this one is over.
func (s *sketchShard) turn(now int64) {
	switch past := now - s.began; {
	case past < int64(sketchTerm):
		return
	case past < 2*int64(sketchTerm):
		s.refused[1], s.held[1] = s.refused[0], s.held[0]
	default:
		s.refused[1], s.held[1] = sketch{}, sketch{}
	}
	s.refused[0], s.held[0] = sketch{}, sketch{}
	s.began = now
}

func (s *sketch) add(key store.Key, n name, by int64) {
	if by <= 0 {
		return
	}
	hint := &s.hint[key.Hi%uint64(len(s.hint))]
	if i := *hint; s.keys[i] == key && s.count[i] > 0 {
		s.count[i] += by
		return
	}
	least := 0
	for i := range s.keys {
		if s.keys[i] == key && s.count[i] > 0 {
			s.count[i] += by
			*hint = uint8(i)
			return
		}
		if s.count[i] < s.count[least] {
			least = i
		}
	}
	s.keys[least], s.names[least] = key, n
	s.over[least] = s.count[least]
	s.count[least] += by
	*hint = uint8(least)
}

// Heavy is one of the heaviest callers or routes of the last five to ten
// minutes.
type Heavy struct {
	Name    string  `json:"name"`             // as it may be shown
	ID      string  `json:"id,omitzero"`      // of a caller: what an override may name it by, after id:
	Refused int64   `json:"refused"`          // requests
	Over    int64   `json:"over,omitzero"`    // by how much that may be too high
	Seconds float64 `json:"slot_seconds"`     // time in flight, of all its requests together
	OverBy  float64 `json:"over_by,omitzero"` // by how much that may be too high
}

// Callers lists the callers that were refused most and those that held most,
// at most most of each, heaviest first, refusals before time.
func (r *Recorder) Callers(most int) (byRefusals, bySeconds []Heavy) {
	return r.callers.top(r.now(), most, func(h *Heavy, k store.Key, n name) {
		h.ID, h.Name = k.String(), n.text
		if n.secret {
			h.Name = n.source + ":" + h.ID[:8]
		}
	})
}

// Routes is Callers of routes.
func (r *Recorder) Routes(most int) (byRefusals, bySeconds []Heavy) {
	return r.routes.top(r.now(), most, func(h *Heavy, _ store.Key, n name) { h.Name = n.text })
}

func (s *sketches) top(now int64, most int, label func(*Heavy, store.Key, name)) (byRefusals, bySeconds []Heavy) {
	all := map[store.Key]*Heavy{}
	for i := range s.shards {
		s.shards[i].collect(now, all, label)
	}
	list := make([]Heavy, 0, len(all))
	for _, h := range all {
		list = append(list, *h)
	}
	first := func(by func(a, b Heavy) int, is func(Heavy) bool) []Heavy {
		some := slices.DeleteFunc(slices.Clone(list), func(h Heavy) bool { return !is(h) })
		slices.SortFunc(some, func(a, b Heavy) int { return cmp.Or(by(b, a), cmp.Compare(a.Name, b.Name)) })
		return some[:min(len(some), max(most, 0))]
	}
	return first(func(a, b Heavy) int { return cmp.Compare(a.Refused, b.Refused) }, func(h Heavy) bool { return h.Refused > 0 }),
		first(func(a, b Heavy) int { return cmp.Compare(a.Seconds, b.Seconds) }, func(h Heavy) bool { return h.Seconds > 0 })
}

func (s *sketchShard) collect(now int64, all map[store.Key]*Heavy, label func(*Heavy, store.Key, name)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	each := func(of *sketch, add func(*Heavy, int64, int64)) {
		for i := range of.keys {
			if of.count[i] == 0 {
				continue
			}
			h := all[of.keys[i]]
			if h == nil {
				h = new(Heavy)
				label(h, of.keys[i], of.names[i])
				all[of.keys[i]] = h
			}
			add(h, of.count[i], of.over[i])
		}
	}
	for term := range 2 {
		each(&s.refused[term], func(h *Heavy, n, over int64) { h.Refused, h.Over = h.Refused+n, h.Over+over })
		each(&s.held[term], func(h *Heavy, n, over int64) {
			h.Seconds, h.OverBy = h.Seconds+time.Duration(n).Seconds(), h.OverBy+time.Duration(over).Seconds()
		})
	}
}

var seed = maphash.MakeSeed()

// keyOf is a key for a route.
func keyOf(text string) store.Key {
	h := maphash.String(seed, text)
	return store.Key{Hi: h >> 32, Lo: h}
}
